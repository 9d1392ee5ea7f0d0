"""The review queue."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from shiyi.curation.changes import Change, Changes, Edit, agent
from shiyi.curation.claim_table import STATUSES, TIERS, Columns, Mask
from shiyi.curation.feedback import reported_claims
from shiyi.curation.opinions import Opinions
from shiyi.errors import FormatError, UsageError
from shiyi.model.claim import Status, Tier
from shiyi.ontology.terms import DCTERMS

WHOSE: Final = ("open", "mine", "disputed", "waiting", "reported", "done", "all")
MOST: Final = 200  # claims of one page, or of one batch


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter of a queue; an empty field matches everything.

    ``whose``: ``open`` (what this person has not reviewed), ``mine`` (assigned to them),
    ``disputed`` (one for, one against), ``waiting`` (reviewed once, a second is awaited),
    ``reported`` (readers reported a mistake), ``done`` (reviewed by them), ``all``. ``shape`` is
    the class of the subject.
    """

    source: str = ""
    relation: str = ""
    shape: str = ""
    tier: str = ""
    school: str = ""
    status: str = ""
    concept: str = ""
    harm: str = ""  # "yes": safety claims alone
    whose: str = "open"

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Filter":
        """Read a filter from a form or a query string; ``FormatError`` for a closed list's name."""
        created = cls(
            **{
                each.name: values.get(each.name, "").strip()[:300] or str(each.default)
                for each in fields(cls)
            }
        )
        for what, name, known in (
            ("status", created.status, tuple(STATUSES)),
            ("tier", created.tier, TIERS),
            ("queue", created.whose, WHOSE),
        ):
            if name and name not in known:
                raise FormatError(what, name, known)
        return created

    def parameters(self) -> dict[str, str]:
        """Return the fields that differ from an open filter, as in a query string."""
        return {
            each.name: value
            for each in fields(self)
            if (value := getattr(self, each.name)) and value != each.default
        }


@dataclass(frozen=True, slots=True)
class Item:
    """One claim of the queue."""

    claim: str
    priority: float
    confidence: float
    status: Status
    safety: bool
    assigned: str = ""
    reviewers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of the queue, best first, and how many claims fit the filter."""

    items: tuple[Item, ...]
    total: int
    offset: int


class Queue:
    """The claims ordered for one curator."""

    def __init__(
        self, columns: Columns, opinions: Opinions, changes: Changes | None = None
    ) -> None:
        self.columns, self.opinions, self._changes = columns, opinions, changes

    def page(self, agent: str, chosen: Filter, offset: int = 0, count: int = 25) -> Page:
        """Return a page; claims that the curator skipped come last."""
        with self.columns.lock:
            return self._page(agent, chosen, offset, min(count, MOST))

    def _page(self, agent: str, chosen: Filter, offset: int, count: int) -> Page:
        columns = self.columns
        fits = self._mask(agent, chosen)
        places = np.flatnonzero(fits)
        score = columns.priority()[places]
        last = {columns.claims.find(each) for each in self.opinions.skipped_by(agent)}
        if last and len(places):
            score = np.where(np.isin(places, list(last)), score - 1000.0, score)
        best = _best(score, offset + count)[offset:].tolist()
        items = tuple(self._item(int(places[i]), float(score[i])) for i in best)
        return Page(items, len(places), offset)

    def next_after(self, agent: str, chosen: Filter, claim: str) -> str:
        """Return the claim that follows one in the queue, the first where it is not in it."""
        items = [each.claim for each in self.page(agent, chosen, 0, MOST).items]
        if claim in items:
            items = items[items.index(claim) + 1 :] + items[: items.index(claim)]
        return items[0] if items else ""

    def assign(
        self, claims: Sequence[str], to: str, who: str, reason: str = ""
    ) -> tuple[Change, ...]:
        """Assign some claims; the empty name returns them to everyone."""
        if self._changes is None:
            raise UsageError("a queue that is only read assigns nothing")
        if not 0 < len(claims) <= MOST:
            raise UsageError(f"1 to {MOST} claims are assigned at a time")
        if unknown := [each for each in claims if self.columns.claims.find(each) < 0]:
            raise UsageError(f"there is no claim {unknown[0][:200]!r} to assign")
        notes = ((DCTERMS.audience, agent(to)),)
        return self._changes.make_all(
            [Edit("assign", (claim,), reason, notes=notes) for claim in claims], who
        )

    def choices(self) -> dict[str, list[str]]:
        """List the values of each filter that occur in the base."""
        columns = self.columns
        return {
            "source": sorted(name for name in columns.sources.names if name),
            "relation": sorted(columns.relations.names),
            "shape": sorted(name for name in columns.kinds.names if name),
            "tier": [each.value for each in TIERS],
            "school": sorted(name for name in columns.schools.names if name),
            "status": [each.value for each in STATUSES],
        }

    def _mask(self, agent: str, chosen: Filter) -> Mask:
        columns = self.columns
        fits = columns.status >= 0
        for name, column, numbers in (
            (chosen.relation, columns.relation, columns.relations),
            (chosen.school, columns.school, columns.schools),
            (chosen.shape, columns.kind, columns.kinds),
        ):
            if name:
                fits &= column == numbers.find(name)
        if chosen.status:
            fits &= columns.status == STATUSES.index(Status(chosen.status))
        elif (
            chosen.whose == "open"
        ):  # what is out already, or cannot be reviewed yet, waits elsewhere
            fits &= (columns.status != STATUSES.index(Status.REJECTED)) & (
                columns.status != STATUSES.index(Status.QUARANTINED)
            )
        if chosen.tier:
            fits &= (columns.tiers & (1 << TIERS.index(Tier(chosen.tier)))) > 0
        if chosen.harm:
            fits &= columns.harm > 1
        if chosen.concept:
            end = columns.ends.find(chosen.concept)
            fits &= (columns.subject == end) | (columns.object == end) if end >= 0 else False
        if chosen.source:
            fits &= self._of(columns.of_source.get(columns.sources.find(chosen.source), set()))
        return fits & self._whose(agent, chosen.whose)

    def _whose(self, agent: str, whose: str) -> Mask:
        opinions = self.opinions
        if whose == "all":
            return np.ones(len(self.columns), bool)
        if whose == "open":
            return ~self._named(opinions.done_by(agent))
        if whose == "mine":
            return self._named(opinions.assigned_to(agent))
        if whose == "disputed":
            return self._named(opinions.disputed())
        if whose == "done":
            return self._named(opinions.done_by(agent))
        if whose == "reported":
            return self._named(reported_claims(self._changes.store) if self._changes else ())
        once = {claim for claim in opinions.reviewed() if len(opinions.of(claim)) == 1}
        return self._named(once - opinions.done_by(agent)) & (self.columns.harm > 1)

    def _named(self, claims: Iterable[str]) -> Mask:
        return self._of({self.columns.claims.find(each) for each in claims})

    def _of(self, places: Iterable[int]) -> Mask:
        result = np.zeros(len(self.columns), bool)
        chosen = np.fromiter((p for p in places if 0 <= p < len(result)), np.int64)
        result[chosen] = True
        return result

    def _item(self, place: int, priority: float) -> Item:
        columns, claim = self.columns, self.columns.claims.names[place]
        return Item(
            claim,
            round(priority, 4),
            float(columns.confidence[place]),
            STATUSES[int(columns.status[place])],
            bool(columns.harm[place] > 1),
            self.opinions.assigned(claim),
            tuple(sorted(self.opinions.of(claim))),
        )


def _best(score: "np.typing.NDArray[np.float64]", count: int) -> "np.typing.NDArray[np.int64]":
    """Return the places of the highest scores, best first, equal ones in order."""
    if count < len(score) // 4:
        edge = np.partition(score, len(score) - count)[len(score) - count]
        candidates = np.flatnonzero(score >= edge)
    else:
        candidates = np.arange(len(score))
    return candidates[np.argsort(-score[candidates], kind="stable")][:count]
