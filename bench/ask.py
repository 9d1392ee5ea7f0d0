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
    "我最近胃不舒服，能推荐几款夏天的饮品吗？", "我在吃华法林，每天喝枸杞水可以吗？",
    "失眠多梦、手脚心热，吃点什么好？", "糖尿病能吃蜂蜜和枸杞吗？能不能不吃二甲双胍？",
    "便秘吃什么好", "阴虚体质吃什么好", "Can I take ginkgo biloba with warfarin or aspirin?",
    "I am always cold and tired. What is my TCM constitution?", "What is the nature of mung bean?",
    "Does being on the medicine-food list mean it works?", "头晕乏力，能推荐什么汤？",
)  # fmt: skip
ROUNDS = 10


def main(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        started = time.perf_counter()
        runtime = Runtime.open(base, Settings())
        opened = time.perf_counter() - started
        for question in QUESTIONS:
            ask(runtime, question)
        spent = []
        for _ in range(ROUNDS):
            for question in QUESTIONS:
                started = time.perf_counter()
                ask(runtime, question)
                spent.append((time.perf_counter() - started) * 1000)
        spent.sort()
        print(json.dumps({
            "claims": len(runtime.projection), "open_seconds": round(opened, 2), "n": len(spent),
            "p50_ms": round(statistics.median(spent), 1),
            "p95_ms": round(spent[int(len(spent) * 0.95)], 1), "max_ms": round(spent[-1], 1),
        }))  # fmt: skip


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "kb"))
