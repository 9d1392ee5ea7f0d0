"""Time and citations of an answer by each method; run ``python bench/methods.py KB [METHOD …]``."""

import json
import statistics
import sys
import time
from pathlib import Path

from shiyi.answering.pipeline import METHODS, AskRequest, Runtime, ask
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

QUESTIONS = (
    "我最近胃不舒服，能推荐几款夏天的饮品吗？", "吃着华法林，枸杞泡水可以天天喝吗？",
    "失眠多梦、手脚心热，吃点什么好？", "血糖高的人能用蜂蜜吗？", "便秘吃什么好",
    "阴虚体质吃什么好",
    "Can I take ginkgo biloba with warfarin?",
    "Which constitution do I have if I always feel cold?",
    "What is the nature of mung bean?", "What does the medicine-food catalogue mean?",
    "头晕乏力，能推荐什么汤？", "山药和莲子的功效有什么不同？", "半夏反什么？",
    "Which supplements help with migraine?",
)  # fmt: skip
ROUNDS = 5


def main(kb: Path, methods: list[str]) -> None:
    with KnowledgeBase.open(kb) as base:
        runtime = Runtime.open(base, Settings())
        for method in methods:
            for question in QUESTIONS:
                ask(runtime, AskRequest(question, method))
            wall, cpu, cited = list[float](), list[float](), list[int]()
            for _ in range(ROUNDS):
                for question in QUESTIONS:
                    started, worked = time.perf_counter(), time.process_time()
                    answer = ask(runtime, AskRequest(question, method))
                    wall.append((time.perf_counter() - started) * 1000)
                    cpu.append((time.process_time() - worked) * 1000)
                    cited.append(len(answer.citations))
            print(
                json.dumps(
                    {
                        "method": method,
                        "n": len(wall),
                        "p50_ms": round(statistics.median(wall), 1),
                        "p95_ms": round(sorted(wall)[int(len(wall) * 0.95)], 1),
                        "cpu_p50_ms": round(statistics.median(cpu), 1),
                        "cpu_p95_ms": round(sorted(cpu)[int(len(cpu) * 0.95)], 1),
                        "citations": round(statistics.mean(cited), 1),
                    }
                )
            )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "kb"), sys.argv[2:] or list(METHODS))
