"""Many curators at once: whatever they do, it is as if one had done it after the other."""

import random
import shutil
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.bases import BOOK, PAPER, TIRED, claim

from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import StaleError
from shiyi.model.claim import Status
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Quad
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import SHIYI
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation, compute_release

_OWN = frozenset({graph("reviews"), graph("journal")})


@dataclass(slots=True)
class ConcurrentDecisions:
    """Decisions made and refused as stale; what was lost, and whether a serial order gives the same."""

    curators: int
    items: int
    decided: int = 0
    refused: int = 0
    lost: int = 0
    serial: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self)


def _base(kb: Path, items: int) -> list[str]:
    claims = [
        claim(resource(f"food-{n}"), SHIYI.relieves, TIRED, 0.5, status=Status.CANDIDATE)
        for n in range(items)
    ]
    quads: list[Quad] = [q for each in claims for q in claim_quads(each, graph("candidates"))]
    for source in (BOOK, PAPER):
        quads += source_quads(source, DefaultGraph())
    build_generation(kb, quads, {})
    return [each.iri.value for each in claims]


def rush(
    curators: int, each: int, items: int, seed: int, home: Path | None = None
) -> ConcurrentDecisions:
    """Decide in threads about the same claims, each by the version it read; then do it one by one."""
    folder = Path(tempfile.mkdtemp(prefix="soak-rush-", dir=home))
    try:
        return _rushed(folder, curators, each, items, seed)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _rushed(folder: Path, curators: int, each: int, items: int, seed: int) -> ConcurrentDecisions:
    row, turn = ConcurrentDecisions(curators, items), threading.Lock()
    made: list[tuple[int, str, str, str, str]] = []
    iris = _base(folder / "kb", items)
    with KnowledgeBase.open(folder / "kb", write=True) as kb:
        desk = Decisions(Changes(kb.writer))

        def curate(who: str) -> None:
            chance = random.Random(f"{seed} {who}")  # noqa: S311 - choices, not secrets
            for number in range(each):
                iri, kind = chance.choice(iris), chance.choice(("accept", "reject", "unsure"))
                seen, key = desk.assess(iri).version, f"{who} {number}"
                try:
                    change = desk.review(
                        iri, ReviewDecision(kind, who, key, expected=seen, key=key)
                    )
                except StaleError:
                    with turn:
                        row.refused += 1
                    continue
                with turn:
                    made.append((change.number, iri, kind, who, key))

        threads = [threading.Thread(target=curate, args=(f"p{n}",)) for n in range(curators)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        numbers = {change.number for change in desk.changes.latest(10 * curators * each)}
        row.decided = len(made)
        row.lost = len({number for number, *_ in made} - numbers)
        row.lost += len(made) - len({number for number, *_ in made})
        together = _data(kb)
    _base(folder / "again", items)
    with KnowledgeBase.open(folder / "again", write=True) as kb:
        desk = Decisions(Changes(kb.writer))
        for _, iri, kind, who, key in sorted(made):
            desk.review(iri, ReviewDecision(kind, who, key, key=key))
        row.serial = _data(kb) == together
    return row


def _data(kb: KnowledgeBase) -> str:
    return compute_release(quad for quad in kb.store.match() if quad.graph_name not in _OWN)
