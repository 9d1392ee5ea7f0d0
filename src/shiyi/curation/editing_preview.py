"""What saving an edited claim would change, before anything is written."""

from dataclasses import dataclass
from itertools import islice

from shiyi.curation.changes import Edit
from shiyi.curation.editing_claims import ACCEPTED, StoredClaim
from shiyi.model.claim import Claim, Polarity
from shiyi.model.names import graph
from shiyi.model.rdf import NamedNode, text
from shiyi.ontology.terms import PROV, SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.sparql.store import QuadStore

_DERIVED = graph("derived")
_MOST = 2000  # statements about one end that are counted; a hub has more


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change does to what is made of claims.

    ``resting`` lists derived claims that rest on the old claim; ``conflicts`` the claims that the
    new ones conflict with; ``paths`` counts the two-step connections through the old claim and
    through the new, ``cut`` tells that they are at least so many.
    """

    before: float | None
    after: tuple[float, ...]
    resting: tuple[str, ...]
    conflicts: tuple[str, ...]
    paths_before: int
    paths_after: int
    cut: bool = False

    @property
    def changes_confidence(self) -> bool:
        """Tell whether the number that ranks becomes another."""
        return any(each != self.before for each in self.after)


def effect_of(
    store: QuadStore, old: StoredClaim | None, claims: tuple[Claim, ...], edit: Edit
) -> Effect:
    """Work out what an edit would change; it reads only."""
    resting = (
        [text(q.subject) for q in store.match(None, PROV.wasDerivedFrom, old.iri, _DERIVED)]
        if old else []
    )  # fmt: skip
    names = {each.iri for each in claims}
    conflicts = sorted({
        text(q.object) for q in edit.added
        if q.predicate == SHIYI.conflictsWith and q.subject in names
    })  # fmt: skip
    asserted = bool(old and old.home == ACCEPTED and old.claim.polarity is Polarity.POSITIVE)
    passed = [_through(store, each) for each in claims if _comes(each, edit)]
    was = _through(store, old.claim) if old and asserted else 0
    return Effect(
        old.confidence if old else None, tuple(each.confidence.value for each in claims),
        tuple(sorted(resting)), tuple(conflicts), was, sum(passed),
        max([was, *passed]) >= _MOST,
    )  # fmt: skip


def _comes(claim: Claim, edit: Edit) -> bool:
    """Tell whether the claim's triple would stand in the accepted view."""
    return any(
        q.subject == claim.subject and q.object == claim.object and q.predicate == claim.predicate
        for q in edit.added
    )


def _through(store: QuadStore, claim: Claim) -> int:
    """Count the connections of two steps that lead over a claim: all that meets its ends."""
    ends = [claim.subject, *([claim.object] if isinstance(claim.object, NamedNode) else [])]
    return sum(_degree(store, each) for each in ends)


def _degree(store: QuadStore, node: NamedNode) -> int:
    properties = {f"{name}" for name, p in Schema.load().properties.items() if p.is_object}
    found = (
        quad for pattern in ((node, None), (None, node))
        for quad in store.match(pattern[0], None, pattern[1], ACCEPTED)
        if quad.predicate.value.rpartition("#")[2] in properties
    )  # fmt: skip
    return sum(1 for _ in islice(found, _MOST))
