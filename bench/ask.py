"""How long a warm answer takes, over the questions in QUESTIONS; run ``python bench/ask.py KB``."""

import json
import statistics
import sys
import time
from pathlib import Path

from shiyi.answering import Runtime, ask
from shiyi.settings import Settings
from shiyi.sparql.knowledge_base import KnowledgeBase

QUESTIONS = (
    "我最近胃不舒服，能推荐几款夏天的饮品吗？", "吃着华法林，枸杞泡水可以天天喝吗？",
    "失眠多梦、手脚心热，吃点什么好？", "血糖高的人能用蜂蜜吗？", "便秘吃什么好", "阴虚体质吃什么好",
    "Can I take ginkgo biloba with warfarin?", "Which constitution do I have if I always feel cold?",
    "What is the nature of mung bean?", "What does the medicine-food catalogue mean?",
    "头晕乏力，能推荐什么汤？",
)  # fmt: skip
ROUNDS = 10


def main(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        started = time.perf_counter()
        runtime = Runtime.open(base, Settings())
        opened = time.perf_counter() - started
        for question in QUESTIONS:
            ask(runtime, question)
        wall, cpu = list[float](), list[float]()
        for _ in range(ROUNDS):
            for question in QUESTIONS:
                started, worked = time.perf_counter(), time.process_time()
                ask(runtime, question)
                wall.append((time.perf_counter() - started) * 1000)
                cpu.append((time.process_time() - worked) * 1000)
        print(json.dumps({
            "claims": len(runtime.projection), "open_seconds": round(opened, 2), "n": len(wall),
            **_spread("", wall), **_spread("cpu_", cpu),
        }))  # fmt: skip


def _spread(name: str, spent: list[float]) -> dict[str, float]:
    """Give median, 95th percentile and maximum in milliseconds.

    Wall time holds what other programs take; processor time holds only ours.
    """
    ranked = sorted(spent)
    return {
        f"{name}p50_ms": round(statistics.median(ranked), 1),
        f"{name}p95_ms": round(ranked[int(len(ranked) * 0.95)], 1),
        f"{name}max_ms": round(ranked[-1], 1),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "kb"))
