"""A proposed revision that is accepted takes the place of its forerunner, and gives it back."""

from collections.abc import Iterator
from typing import Final

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing_changes import succession
from shiyi.curation.ledger import Change
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.terms import DCTERMS, SHIYI
from shiyi.sparql.store import QuadStore

KIND: Final = "replace"


def following(store: QuadStore, planned: Edit) -> Iterator[Edit]:
    """Yield the retirement of what a claim revises, where an edit is about to accept the claim."""
    for iri in planned.about:
        accepted = Quad(NamedNode(iri), SHIYI.status, SHIYI.accepted, DefaultGraph())
        if accepted not in planned.added:
            continue
        gone, come = succession(store, iri)
        olds = dict.fromkeys(
            text(quad.subject) for quad in come if quad.predicate == DCTERMS.isReplacedBy
        )
        if olds:
            yield Edit(KIND, (*olds, iri), planned.reason, gone, come)


def bring_back(changes: Changes, undone: Change, who: str) -> None:
    """Restore what a claim took the place of, where the claim is no longer accepted."""
    for iri in undone.about:
        node = NamedNode(iri)
        if any(changes.store.match(node, SHIYI.status, SHIYI.accepted, DefaultGraph())):
            continue
        for change in reversed(changes.of(iri)):
            if change.kind == KIND and change.about and _heir(change) == iri:
                if changes.is_live(change):
                    changes.undo(change.iri, who, undone.reason)
                break


def _heir(change: Change) -> str:
    """Name the claim that took the place: the one the others point to."""
    return next(
        (text(quad.object) for quad in change.added if quad.predicate == DCTERMS.isReplacedBy), ""
    )
