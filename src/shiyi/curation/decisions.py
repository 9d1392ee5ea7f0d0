"""Reviews: an expert agrees or disagrees with a claim, and its status and confidence follow."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.editing_succession import bring_back, following
from shiyi.curation.ledger import Change, Note
from shiyi.curation.standing import (
    REVIEWING,
    Held,
    Verdict,
    held,
    moved,
    source_copies,
    standing,
    verdict,
)
from shiyi.curation.state import state_of, version
from shiyi.errors import RangeError, StaleError, UsageError
from shiyi.model.claim import Status
from shiyi.model.names import content_hash
from shiyi.model.rdf import NamedNode, Quad, decimal, local_name
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.reviews import Review, Standing

Quads = tuple[Quad, ...]
_MENTION = re.compile(r"(?<![\w@])@([a-z0-9][a-z0-9._-]{0,39})")
SIDES: Mapping[str, float] = {"accept": 1.0, "reject": -1.0, "unsure": 0.0}


@dataclass(frozen=True, slots=True)
class Weighing:
    """A claim with everything that decides about it; ``version`` is what an edit should expect."""

    claim: Held
    made: Standing
    home: Status
    verdict: Verdict
    reviews: tuple[Change, ...]
    safety: bool

    @property
    def version(self) -> str:
        """Give the version of the claim."""
        return version(self.claim.state)


class Decisions:
    """Makes and takes back reviews of claims."""

    def __init__(self, changes: Changes) -> None:
        self.changes, self.store = changes, changes.store

    def weighing(self, iri: str) -> Weighing:
        """Give a claim with its votes, the reviews that hold, and what follows from them."""
        claim = held(state_of(self.store, iri), iri)
        reviews = self.reviews(iri)
        home = _home(reviews[0]) if reviews else claim.status
        made, safety = standing(self.store, claim, reviews), self.is_safety(claim)
        return Weighing(claim, made, home, verdict(made, home, safety), reviews, safety)

    def reviews(self, iri: str) -> tuple[Change, ...]:
        """List the reviews of a claim that hold: each reviewer's latest, the oldest first."""
        latest: dict[str, Change] = {}
        for change in self.changes.of(iri):
            if change.kind in REVIEWING and self.changes.is_live(change):
                latest.pop(change.who, None)
                latest[change.who] = change
        return tuple(sorted(latest.values(), key=lambda each: each.number))

    def is_safety(self, claim: Held) -> bool:
        """Tell whether a claim is about harm."""
        known = self._schema.properties.get(local_name(claim.predicate.value))
        return bool(known and known.is_safety)

    def review(
        self, iri: str, kind: str, who: str, reason: str = "", *, agreement: float | None = None,
        expected: str = "", key: str = "",
    ) -> Change:  # fmt: skip
        """Write one reviewer's decision: ``accept``, ``reject`` or ``unsure``; give the change.

        ``agreement`` in [-1, 1] says how far, on the side of the kind (default: wholly). A
        reviewer's later review takes the place of the earlier. ``expected`` is the version of the
        claim that was read; ``StaleError`` where it is another by now.
        """
        agreed = _agreed(kind, agreement)
        before = self.changes.of_key(key)
        if before:
            return before

        def plan() -> Edit:
            return self._planned(iri, kind, who, reason, agreed, expected, key)

        with self.changes.writer.turn():
            self._bring_sources(iri, who, agreed)
            planned = plan()  # with what it takes the place of, in one write
            return self.changes.make_all([planned, *following(self.store, planned)], who)[0]

    def comment(self, iri: str, who: str, text: str, key: str = "") -> Change:
        """Write a comment on a claim or concept; ``@name`` calls somebody."""
        if not text.strip():
            raise UsageError("a comment says something")
        if not state_of(self.store, iri):
            raise UsageError(f"the base holds nothing called {iri[:200]}")
        return self.changes.make(Edit("comment", (iri,), text.strip(), key=key), who)

    def skip(self, iri: str, who: str, reason: str = "", key: str = "") -> Change:
        """Leave a claim to others; the queue shows it to this person last."""
        held(state_of(self.store, iri), iri)
        return self.changes.make(Edit("skip", (iri,), reason, key=key), who)

    def undo(self, iri: str, who: str, reason: str, key: str = "") -> Change:
        """Take a change back: exactly, or, for a review others followed, by weighing the rest anew.

        Both ways lead to the same state, since it follows from the evidence and the reviews.
        """
        with self.changes.writer.turn():
            undone = self._undone(iri, who, reason, key)
            bring_back(self.changes, undone, who)
            return undone

    def _undone(self, iri: str, who: str, reason: str, key: str) -> Change:
        try:
            return self.changes.undo(iri, who, reason, key)
        except StaleError:
            change = self.changes.get(iri)
            if change.kind not in REVIEWING:
                raise
        claim = change.about[0]

        def plan() -> Edit:
            if not self.changes.is_live(change):
                raise UsageError(f"{iri} was taken back already")
            removed, added = self.reversal(change)
            notes = ((SHIYI.reverses, NamedNode(iri)),)
            return Edit("undo", (claim,), reason, removed, added, key=key, notes=notes)

        return self.changes.make(Edit("undo", (claim,), reason, key=key), who, plan)

    def reversal(self, change: Change) -> tuple[Quads, Quads]:
        """Give what goes and comes when a change is taken back, weighing a review's claim anew."""
        if change.kind not in REVIEWING:
            return change.added, change.removed
        now = self.weighing(change.about[0])
        rest = [each for each in now.reviews if each.iri != change.iri]
        made = standing(self.store, now.claim, rest)
        said = verdict(made, _home(change), now.safety)
        quads = moved(self.store, now.claim, said.status, said.confidence)
        return tuple(quads["removed"]), tuple(quads["added"])

    def effect(self, review: Change) -> tuple[Quads, Quads, tuple[Note, ...]]:
        """Give what a review made elsewhere does to this base's claim, and its notes here."""
        claim = review.about[0]
        agreed = _agreed(review.kind, float(review.note(SHIYI.agreement) or 0))
        self._bring_sources(claim, review.who, agreed)
        made = self._planned(claim, review.kind, review.who, review.reason, agreed, "", "")
        return made.removed, made.added, made.notes

    def _planned(
        self, iri: str, kind: str, who: str, reason: str, agreed: float, expected: str, key: str
    ) -> Edit:
        now = self.weighing(iri)
        if expected and now.version != expected:
            raise StaleError((iri,))
        if now.claim.status not in {Status.ACCEPTED, Status.CANDIDATE, Status.REJECTED}:
            raise UsageError(
                f"{iri} is {now.claim.status}: what the gate held back is mended at the quarantine "
                "desk first"
            )
        said = verdict(_with(now.made, who, agreed), now.home, now.safety)
        quads = moved(self.store, now.claim, said.status, said.confidence)
        notes = (
            (SHIYI.agreement, decimal(agreed)),
            (SHIYI.homeStatus, _status(now.home)),
        )
        return Edit(
            kind, (iri,), reason, tuple(quads["removed"]), tuple(quads["added"]), notes=notes, key=key,
        )  # fmt: skip

    def _bring_sources(self, iri: str, who: str, agreed: float) -> None:
        """Let the accepted view know the sources first; a description is never taken back."""
        if agreed <= 0:
            return
        copies = source_copies(self.store, held(state_of(self.store, iri), iri))
        if copies:
            key = f"curation sources {content_hash(*sorted(map(str, copies)))}"
            self.changes.writer.write(copies, key=key, who=who, why="sources of an accepted claim")

    @cached_property
    def _schema(self) -> Schema:
        return Schema.load()


def mentions(text: str) -> tuple[str, ...]:
    """List the names a comment calls.

    >>> mentions("@li and @wang.wu: see a@b, @li")
    ('li', 'wang.wu')
    """
    return tuple(dict.fromkeys(found.rstrip(".") for found in _MENTION.findall(text)))


def _agreed(kind: str, agreement: float | None) -> float:
    if kind not in REVIEWING:
        raise UsageError(f"a review accepts, rejects or is unsure, it does not {kind[:40]!r}")
    agreed = SIDES[kind] if agreement is None else agreement
    if not -1.0 <= agreed <= 1.0:
        raise RangeError(f"an agreement lies in [-1, 1], not at {agreed}")
    if agreed * SIDES[kind] < 0 or (kind != "unsure" and agreed == 0):
        raise UsageError(f"an agreement of {agreed} is not on the side of {kind}")
    return round(agreed, 6)


def _with(made: Standing, who: str, agreed: float) -> Standing:
    return made.reviewed(Review(who, agreed))


def _home(review: Change) -> Status:
    return Status(local_name(review.note(SHIYI.homeStatus)))


def _status(status: Status) -> NamedNode:
    found: NamedNode = getattr(SHIYI, status.value)
    return found
