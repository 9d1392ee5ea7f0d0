"""Prometheus metrics of this process; ``/metrics`` shows them.

Labels are of closed lists: of a request its route, of a query its form, never who asks or what.
Several processes are counted together where ``PROMETHEUS_MULTIPROC_DIR`` names a folder that they
share (multi-process mode of ``prometheus_client``).
"""

import os
from typing import Final

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    multiprocess,
)
from prometheus_client.exposition import choose_encoder

disable_created_metrics()  # type: ignore[no-untyped-call]

_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


def _counter(name: str, documentation: str, *labels: str) -> Counter:
    return Counter(f"shiyi_{name}", documentation, labels or ("kind",))


def _histogram(name: str, documentation: str, label: str = "kind") -> Histogram:
    return Histogram(f"shiyi_{name}", documentation, (label,), buckets=_BUCKETS)


REQUESTS: Final = _counter("requests", "Requests served.", "route", "method", "status")
REQUEST_SECONDS: Final = _histogram("request_seconds", "Time to make a response.", "route")
SHED: Final = _counter("shed", "Requests refused under load, by reason.")
SLOW: Final = _counter("slow", "Requests and queries that took longer than server.slow.")
ANSWERS: Final = _counter("answers", "Answers by method, and abstentions.")
ANSWER_SECONDS: Final = _histogram("answer_seconds", "Time of each stage of an answer.")
CACHE_HITS: Final = _counter("cache_hits", "Look-ups that a cache answered.")
CACHE_MISSES: Final = _counter("cache_misses", "Look-ups that a cache could not answer.")
MODEL_CALLS: Final = _counter("model_calls", "Calls of language models, by outcome.")
MODEL_SECONDS: Final = _histogram("model_seconds", "Time of calls of language models, by outcome.")
MODEL_TOKENS: Final = _counter("model_tokens", "Tokens of language models, as they report them.")
MODEL_COST: Final = _counter(
    "model_cost", "Price of the tokens, by models.price_prompt and models.price_completion."
)
SPARQL: Final = _counter("sparql", "Free queries and updates, by form.")
LISTENER_FAULTS: Final = _counter(
    "listener_faults", "Changes that are written, but that a listener could not follow."
)
WORKER_KILLS: Final = _counter("worker_kills", "Query workers that were ended or died, by reason.")


def exposition(accept: str = "") -> tuple[bytes, str]:
    """Return the metrics in the form that an Accept header asks for, and its content type."""
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type
