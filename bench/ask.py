"""How long a warm answer takes: ``python bench/ask.py [KB] [--size starter|yaoshi|idisk|chain] [--rounds N]``.

The larger sizes add made-up claims with skewed degrees to the base, in a folder below ``--where``
that is stored (``--build-only`` makes it and ends); questions about the hubs are asked besides. Before
that a server is started on the base: seconds to its first page and to its first answered page, and what
it then has resident. The last figures are those of relation paths from the largest hub.
"""

import argparse
import gc
import json
import os
import resource
import statistics
import time
from pathlib import Path as File
from urllib.parse import quote

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `shiyi` sets it, before NumPy is loaded

import psutil
from grown import SIZES, grow, largest_hub
from serving import ask as fetch
from serving import memory_mib, start_server

from shiyi.answering.knowledge.fact_file import open_facts
from shiyi.answering.pipeline import AskRequest, Runtime, ask
from shiyi.model.iris import ID
from shiyi.model.rdf import NamedNode
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI
from shiyi.reasoning.adjacency import Projection
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, current_generation

QUESTIONS = (
    "我最近胃不舒服，能推荐几款夏天的饮品吗？", "吃着华法林，枸杞泡水可以天天喝吗？",
    "失眠多梦、手脚心热，吃点什么好？", "血糖高的人能用蜂蜜吗？", "便秘吃什么好",
    "阴虚体质吃什么好",
    "Can I take ginkgo biloba with warfarin?",
    "Which constitution do I have if I always feel cold?",
    "What is the nature of mung bean?", "What does the medicine-food catalogue mean?",
    "头晕乏力，能推荐什么汤？",
)  # fmt: skip
ROUNDS = 10
SHOWN_PATHS = 500  # paths of one relation path that may be shown, before they are thinned out
WHERE = File(__file__).parent / "results" / "grow"


def main(kb: File, size: str, rounds: int) -> None:
    folder = current_generation(kb)
    release = json.loads((folder / "manifest.json").read_bytes())["release"]
    file = open_facts(folder / "index", release, Schema.load())
    served = _measure_server(
        kb, largest_hub(Projection.load(folder / "index", release, file.claims))
    )
    with KnowledgeBase.open(kb) as base:
        started = time.perf_counter()
        runtime = Runtime.open(base, Settings())
        opened = time.perf_counter() - started
        asked = (*QUESTIONS, *(_about_hubs(runtime) if size != "starter" else ()))
        for question in asked:
            ask(runtime, AskRequest(question))
        gc.freeze()  # as the server does
        wall, cpu, slowest = list[float](), list[float](), dict[str, float]()
        for _ in range(rounds):
            for question in asked:
                started, worked = time.perf_counter(), time.process_time()
                ask(runtime, AskRequest(question))
                wall.append((time.perf_counter() - started) * 1000)
                cpu.append((time.process_time() - worked) * 1000)
                slowest[question] = max(slowest.get(question, 0.0), cpu[-1])
        worst = max(slowest, key=lambda each: slowest[each])
        print(
            json.dumps(
                {
                    "size": size,
                    "claims": len(runtime.projection),
                    "concepts": len(runtime.facts.classes),
                    "open_seconds": round(opened, 2),
                    "n": len(wall),
                    **_spread("", wall),
                    **_spread("cpu_", cpu),
                    "slowest": worst,
                    "resident_mib": resident_mib(),
                    "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                    **served,
                },
                ensure_ascii=False,
            )
        )


def _measure_server(kb: File, hub: str) -> dict[str, float]:
    """Start a server and ask it for its first page, its first answer, other pages and queries."""
    begun = time.perf_counter()
    server, port, _ = start_server(str(kb))
    try:
        first_page, worked = time.perf_counter() - begun, _processor_seconds(server.pid)
        fetch(port, "/api/ask", _body(QUESTIONS[0]))
        first_answer, answered = time.perf_counter() - begun, _processor_seconds(server.pid)
        for question in QUESTIONS:
            fetch(port, "/api/ask", _body(question))
        seen = {name: round(fetch(port, path)[0], 1) for name, path in _addresses(hub).items()}
        return {
            "server_first_page_seconds": round(first_page, 2),
            "server_first_page_cpu_seconds": round(worked, 2),
            "server_first_answer_seconds": round(first_answer, 2),
            "server_first_answer_cpu_seconds": round(answered, 2),
            **seen,
            **memory_mib(server.pid),
        }
    finally:
        server.terminate()
        server.wait(30)


def _addresses(hub: str) -> dict[str, str]:
    """Return addresses that are each asked for the first time: pages, and queries through the workers."""
    some = f"SELECT ?p ?o {{ <{hub}> ?p ?o }} LIMIT 100"
    all_ = f"SELECT (COUNT(*) AS ?n) {{ ?claim a {SHIYI.Claim} }}"
    return {
        "page_ms": "/page/substance-gouqizi?lang=zh",
        "hub_page_ms": f"/page/{quote(hub.removeprefix(ID))}?lang=zh",
        "query_ms": f"/sparql?query={quote(some)}",
        "counting_query_ms": f"/sparql?query={quote(all_)}",
    }


def _processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process, which other programs leave as they are."""
    spent = psutil.Process(pid).cpu_times()
    return float(spent.user + spent.system)


def _body(question: str) -> bytes:
    return json.dumps({"question": question}).encode()


def resident_mib() -> int:
    """Return the memory this process has now, pages of files among it."""
    pages = int(File("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() >> 20


def _about_hubs(runtime: Runtime) -> list[str]:
    """Ask about the symptom and the supplement with the most claims."""
    facts = runtime.facts

    def widest(kind: NamedNode) -> str:
        members = facts.members(kind)
        ends = (facts.by_subject, facts.by_object)
        return max(members, key=lambda iri: sum(len(side.get(iri, ())) for side in ends))

    symptom, supplement, drug = map(widest, (SHIYI.Symptom, SHIYI.DSIngredient, SHIYI.Drug))
    names = {
        "s": facts.label(symptom, "zh"),
        "x": facts.label(supplement, "en"),
        "d": facts.label(drug, "en"),
    }
    return [
        term.format(**names)
        for term in (
            "有{s}吃什么好？",
            "有{s}喝什么好，我在吃华法林",
            "Can I take {x} with {d}?",
            "What is {x} good for?",
            "{x}",
        )
    ]


def _spread(name: str, spent: list[float]) -> dict[str, float]:
    """Return median, 95th percentile and maximum in milliseconds.

    Wall time holds what other programs take; processor time holds only Shiyi's.
    """
    ranked = sorted(spent)
    return {
        f"{name}p50_ms": round(statistics.median(ranked), 1),
        f"{name}p95_ms": round(ranked[int(len(ranked) * 0.95)], 1),
        f"{name}max_ms": round(ranked[-1], 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", nargs="?", type=File, default=File("kb"))
    parser.add_argument("--size", choices=("starter", *SIZES), default="starter")
    parser.add_argument("--where", type=File, default=WHERE)
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    if options.size != "starter":
        options.kb = grow(options.kb, *SIZES[options.size], options.where)
    if not options.build_only:
        main(options.kb, options.size, options.rounds)
