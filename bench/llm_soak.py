"""Read thousands of passages from an endpoint that fails on purpose: `python bench/llm_soak.py`.

Served by ../shared/tools/llm_fault_server.py at --rate (30 % over all its faults). At the end every
passage is read or parked with a reason, and the claims are those of a run without faults.
docs/make/testing.py takes what it prints.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from shiyi.artefacts import artefact
from shiyi.ingest.datasets.dataset import describe_text
from shiyi.ingest.documents.document import Document, Passage, Section
from shiyi.ingest.extraction.llm import LlmExtractor
from shiyi.ingest.gate import Gate
from shiyi.linking.labels import LabelIndex
from shiyi.model.iris import resource as named
from shiyi.prompts.caching import ReplyStore
from shiyi.prompts.openai import OpenAIChatModel
from shiyi.prompts.resilience import Retrier
from shiyi.settings import ModelSettings, Settings

SERVER = Path(__file__).parents[2] / "shared/tools/llm_fault_server.py"
KEY = "sk-soak-secret-key"
GOOD = json.dumps({
    "relations": ["hasNature"], "attributes": [], "repairs": [], "summary": "性味。",
    "questions": [],
    "entities": [], "statements": [{"subject": "山楂", "relation": "hasNature", "object": "平",
                                    "quote": "性平", "confidence": 0.9}],
}, ensure_ascii=False)  # fmt: skip


def passages(count: int) -> list[Passage]:
    section = Section(named("section/soak").value, ("本草", "山楂"))
    texts = [f"第{number}条。味甘，性平。" for number in range(count)]
    return [
        Passage(named(f"passage/soak-{n}").value, section, 0, len(t), t, True)
        for n, t in enumerate(texts)
    ]


def measure(calls: int, rate: float, seed: int, rounds: int) -> dict[str, Any]:
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    model = ModelSettings(timeout=2.0, wait=0.05, wait_most=2.0, breaker=40, concurrency=16)
    settings = replace(Settings(), models=model)
    made_passages, counts, reasons = passages(calls // 5), Counter[str](), Counter[str]()
    served = subprocess.Popen(  # noqa: S603 - our own interpreter
        [
            sys.executable,
            str(SERVER),
            "--port",
            "0",
            "--rate",
            str(rate),
            "--seed",
            str(seed),
            "--sleep",
            "4",
            "--good",
            GOOD,
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        url = served.stdout.readline().split()[0] if served.stdout else ""
        chat = OpenAIChatModel("soak", url, KEY, model)
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "soak.txt"
            page.write_text("soak", "utf-8")
            document = Document("soak", describe_text(page, "本草").source, "zh", "")
            replies = ReplyStore.open(Path(folder))
            asker = Retrier(chat, replies, model, "soak@1")
            extractor = LlmExtractor(asker, index, Gate(index), settings)
            started, waiting, facts = time.perf_counter(), made_passages, Counter[str]()
            for number in range(1, rounds + 1):
                read = extractor.read(waiting, document, named("graph"))
                remaining_passages = []
                for passage, extraction in zip(waiting, read, strict=True):
                    if extraction.parked:
                        reasons[extraction.parked[:60]] += 1
                        counts["parked with facts"] += bool(extraction.found)
                        counts["reason with the key"] += KEY in extraction.parked
                        remaining_passages.append(passage)
                    for statement in extraction.found:
                        counts["not verbatim"] += (
                            passage.text[statement.start : statement.end] != "性平"
                        )
                        facts[passage.iri] += 1
                counts[f"parked after round {number}"] = len(remaining_passages)
                waiting = remaining_passages
                if not waiting:
                    break
            seconds = time.perf_counter() - started
            replies.close()
    finally:
        served.kill()
        served.communicate()
    return {
        "rate": rate,
        "seed": seed,
        "load": round(os.getloadavg()[0], 1),
        "passages": len(made_passages),
        "calls": asker.usage.calls,
        "faults": dict(asker.usage.faults),
        "facts": sum(facts.values()),
        "twice": sum(n > 1 for n in facts.values()),
        "lost": len(made_passages) - len(waiting) - len(facts),
        **counts,
        "reasons": dict(reasons.most_common(8)),
        "seconds": round(seconds, 1),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5000, help="at least; five a passage")
    parser.add_argument("--rate", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    if not SERVER.is_file():
        raise SystemExit(f"{SERVER} is not here")
    results = {"model faults": measure(options.calls, options.rate, options.seed, options.rounds)}
    print(json.dumps(results, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
