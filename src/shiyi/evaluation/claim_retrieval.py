"""Which claims a method retrieves for questions that single claims answer, compared by id."""

import random
from collections.abc import Callable

from shiyi.answering import METHODS
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.claim_questions import Asked, claim_questions
from shiyi.evaluation.items import Skips
from shiyi.evaluation.metrics import context_precision, context_recall
from shiyi.evaluation.results import Report
from shiyi.evaluation.switches import of_method
from shiyi.evaluation.tasks import Progress, check_methods, made, run_method

KEPT = 20  # claims that a reader is given; ours


def run_claim_retrieval(bench: Bench, request: Request, progress: Progress) -> Report:
    """Measure the first twenty claims of each method; without ranking, any twenty of those found."""
    check_methods(request, METHODS)
    asked = claim_questions(
        bench.base.store, bench.runtime.facts, bench.linker, request.seed, request.limit
    )
    runs = [
        run_method(method, asked, _measuring(bench, request, method), progress)
        for method in request.methods
    ]
    return made(bench, request, len(asked), Skips(), runs)


def _measuring(bench: Bench, request: Request, method: str) -> Callable[[Asked], dict[str, float]]:
    retrieving = bench.retrieving(method)
    ranked = "no-ranking" not in of_method(request.ablate, method)

    def measure(item: Asked) -> dict[str, float]:
        found = list(dict.fromkeys(each.fact.claim for each in retrieving.claims(item.question)))
        if not ranked:
            random.Random(f"{request.seed} {item.id}").shuffle(found)  # noqa: S311 - an order, no secret
        kept, reach = found[:KEPT], min(KEPT, len(item.claims))
        said = {
            "context_recall": context_recall(kept, item.claims) * len(item.claims) / reach,
            "context_precision": context_precision(kept, item.claims),
        }
        said |= {f"{name}:{item.kind}": value for name, value in said.items()}
        return said | {"abstained": float(not found)}

    return measure
