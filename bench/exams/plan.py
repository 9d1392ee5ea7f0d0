"""The plan of bench/exams/pages.py: methods, switches with the questions they matter for, sweeps."""

from typing import Any

from shiyi.evaluation.questions.safety import FROM_CLAIMS as CLAIMS

ALL = ("fused", "paths", "neighbourhood", "bm25", "tfidf", "random-paths", "none")
ANSWERING = ("fused", "spot", "layers", "therapy", "chain", "transe", "rotate", "none")
RETRIEVING = ("fused", "neighbourhood", "spot", "layers", "therapy", "chain", "bm25", "none")
READING = ("fused", "passages", "paths", "bm25", "tfidf", "bm25-passages", "none")
MADE = 120  # questions made from claims
SOURCES = ("idisk1-mskcc", "lffy", "tcm-mkg-chp", "yinshan-zhengyao")  # English, old and new
WITHHELD = 150  # questions made from a source
CASES, TRAIN = "tcmeval_sdt/Validation_TCM_Data_v1.json", "tcmeval_sdt/Train_TCM_Data_v1.json"
DIAGNOSIS, EXAM = "mtcmb-dev/TCM-Diagnosis.jsonl", "mtcmb-dev/TCM-ED-A.jsonl"
SWITCHED_RUNS = (  # task, file, metric, then each method with the switches that are meaningful there
    ("retrieval", CLAIMS, "context_precision", (), {
        "spot": ("no-ranking", "spo-without-text", "keyword-only", "vector-only", "union",
        "no-reflection", "fixed-chunks"),
        "chain": ("macro-only", "micro-only", "fixed-chunks", "no-ranking", "deterministic"),
        "layers": ("no-multilayer", "no-ranking", "deterministic"),
        "therapy": ("no-multilayer", "no-ranking", "beam-1", "deterministic"),
    }),
    ("mcq", CLAIMS, "accuracy", (), {
        "fused": ("deterministic", "no-ranking", "random-paths", "keyword-only", "vector-only"),
        "paths": ("deterministic", "no-ranking", "random-paths"),
        "neighbourhood": ("deterministic",),
        "layers": ("deterministic", "no-ranking"),
    }),
    ("syndrome", CASES, "top1", (TRAIN,), {
        "fused": ("deterministic", "no-ranking", "random-paths", "spo-without-text", "keyword-only",
        "vector-only", "general-kg-only"),
    }),
    ("syndrome", DIAGNOSIS, "top5", (), {
        "fused": ("deterministic", "no-ranking", "random-paths", "spo-without-text",
        "keyword-only"),
        "therapy": ("beam-1",),
    }),
    ("mcq", EXAM, "accuracy", (), {
        "fused": ("deterministic", "no-ranking", "random-paths", "spo-without-text", "keyword-only",
        "vector-only"),
    }),
    ("recommend", CLAIMS, "p@5", (), {
        "fused": ("deterministic", "no-ranking", "random-paths", "spo-without-text",
        "keyword-only"),
    }),
)  # fmt: skip
BOOK_SWITCHES: tuple[tuple[str, str, str, tuple[str, ...], dict[str, tuple[str, ...]]], ...] = (
    ("mcq", EXAM, "accuracy", (), {"fused": ("spo-without-text", "keyword-only", "no-ranking")}),
    ("syndrome", CASES, "top1", (TRAIN,), {"fused": ("spo-without-text", "general-kg-only")}),
)
SWEEPS: tuple[tuple[str, tuple[float, ...], str, str, str, tuple[str, ...], dict[str, Any]],
...] = (  # name, values, task, file, method, metrics, what else the request says
    ("k", (1, 3, 5, 10, 20, 30), "syndrome", DIAGNOSIS, "paths", ("top1", "top5"),
     {"scorer": "mean_entities"}),
    ("damping", (0.1, 0.3, 0.5, 0.7, 0.8, 0.9), "syndrome", DIAGNOSIS, "paths", ("top1", "top5"),
     {"scorer": "mean_entities"}),
    ("rounds", (1, 2, 3), "retrieval", CLAIMS, "spot", ("context_recall", "context_recall:two"),
     {"limit": MADE // 2}),
    ("chunk", (100, 330, 1000), "retrieval", CLAIMS, "spot", ("context_recall",
     "context_precision"), {"limit": MADE // 2, "ablate": ("fixed-chunks",)}),
    ("delta", (0.05, 0.2, 0.4, 0.6), "retrieval", CLAIMS, "layers", ("context_recall",
     "context_precision"), {"limit": MADE // 2}),
    ("threshold", (0.75, 0.85), "syndrome", DIAGNOSIS, "neighbourhood", ("top1", "top5"), {}),
)  # fmt: skip
