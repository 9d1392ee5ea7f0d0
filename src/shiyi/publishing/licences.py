"""What may leave: a claim that stands only on restricted sources never does."""

from collections import defaultdict
from dataclasses import dataclass

from shiyi.model.rdf import text
from shiyi.sparql.queries import Query
from shiyi.sparql.store import QuadStore

RESTRICTED = "restricted"  # the first word of a licence that forbids passing facts on


@dataclass(frozen=True, slots=True)
class Withheld:
    """IRIs of evidence and claims that stay inside."""

    evidence: frozenset[str]
    claims: frozenset[str]


def withheld(store: QuadStore, licence: str | None = None) -> Withheld:
    """List what an export leaves out: restricted sources, and with ``licence`` all others too."""
    support: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    for row in store.select(Query.named("claim-sources").text):
        given = text(row.get("licence"))
        free = not given.startswith(RESTRICTED) and licence in (None, given)
        support[text(row["claim"])].append((text(row["evidence"]), free))
    return Withheld(
        frozenset(node for each in support.values() for node, free in each if not free),
        frozenset(claim for claim, each in support.items() if not any(free for _, free in each)),
    )
