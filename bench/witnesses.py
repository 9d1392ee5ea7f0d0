"""Which claims of old books enter the starter base, and which books bear them out independently.

Books that copy one another are one witness: those of one lineage, those that name the work they
quote, and those that repeat the wording round the statement.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shiyi.artefacts import artefact
from shiyi.ingest.documents.books import Book
from shiyi.ingest.tables.evidence import EVIDENCE, STATES, SUPPORTS, PointerRow, read_pointers
from shiyi.ingest.tables.starter import Starter
from shiyi.ingest.tables.tsv import Place
from shiyi.model.claim import Polarity
from shiyi.model.rdf import local_name, text
from shiyi.verification.corpora import text_digest
from shiyi.verification.pointers import write_pointers

CORPUS: Final = "old-books"
_FILE, _COLUMN = "books.jsonl.xz", "text"
_AROUND = 16  # characters on each side of a quote in which wording is compared
_SAME = 9  # characters in a row that two books share by copying, not by chance
_SHOWN = 3  # witnesses of a claim that are listed, the earliest and the latest among them
MOST: Final = 2_200  # claims that enter
_CITED = re.compile(r"[《〈]([^》〉。]{2,10})[》〉][^。]*\Z")
_MARKS = re.compile(r"[\W_]+")
Key = tuple[str, str, str]

_FEWEST = 2  # independent witnesses that a claim of the tables needs
_NEW: Final[Mapping[str, int]] = {  # that one needs which the tables do not make
    "hasNature": 2,
    "hasFlavour": 2,
    "hasMeridianTropism": 2,
    "hasEfficacy": 3,
    "cautionIn": 3,
    "contraindicatedIn": 3,
}
_SINGLE = frozenset({"hasNature"})  # a material has one
_SETTLED = _SINGLE | {"hasFlavour", "hasMeridianTropism", "hasEfficacy"}  # where tables name any
_BENEFITS = frozenset({"hasEfficacy", "relieves", "indicatedFor"})
_HARMS = frozenset({"cautionIn", "contraindicatedIn", "unsuitableFood", "aggravates"})
_MATERIALS = frozenset({"MFHSubstance", "Food", "Herb"})
_EATEN = frozenset({"MFHSubstance", "Food"})  # of these alone an efficacy may be new
_BARRED: Final[Mapping[str, frozenset[str]]] = {  # what a material is of which no benefit is new
    "hasToxicity": frozenset({"toxicity-slight", "toxicity-toxic", "toxicity-severe"}),
    "hasFoodGroup": frozenset({"foodgroup-alcohol"}),
    "regulatoryStatus": frozenset({"status-toxic-medicine", "status-health-food-forbidden"}),
}
_PRESSED = "disease-hypertensive-disorder"  # of salt and its like no benefit is new either


@dataclass(frozen=True, slots=True)
class Witness:
    """A place in a book that states a claim, with the words round it."""

    claim: Key
    book: Book
    start: int
    end: int
    before: str
    quote: str
    after: str

    @property
    def order(self) -> tuple[int, str]:
        """Return what puts witnesses in the order of their books' dates; the undated are last."""
        return (self.book.end if self.book.end is not None else 9999, self.book.file)

    @property
    def lineages(self) -> set[str]:
        """Return the lineage of the book, and the work that it quotes there."""
        match = _CITED.search(self.before)
        return {self.book.lineage or self.book.file, *((match[1],) if match else ())}

    @property
    def wording(self) -> set[str]:
        """Return the runs of characters round the quote by which a copy is known."""
        near = _MARKS.sub("", self.before[-_AROUND:] + self.quote + self.after[:_AROUND])
        return {near[at : at + _SAME] for at in range(len(near) - _SAME + 1)}


def independent(witnesses: Iterable[Witness]) -> list[list[Witness]]:
    """Return witnesses in groups that do not copy one another, each in the order of its dates."""
    groups: list[tuple[set[str], set[str], list[Witness]]] = []  # lineages, wordings, witnesses
    for witness in witnesses:
        joined = witness.lineages, witness.wording, [witness]
        for group in [g for g in groups if g[0] & joined[0] or g[1] & joined[1]]:
            joined = group[0] | joined[0], group[1] | joined[1], group[2] + joined[2]
            groups.remove(group)
        groups.append(joined)
    return [sorted(found_witnesses, key=lambda one: one.order) for _, _, found_witnesses in groups]


def choose_witnesses(groups: Sequence[Sequence[Witness]]) -> list[Witness]:
    """Return the first witness of each group; of many the earliest, the latest and some between."""
    firsts = sorted((group[0] for group in groups), key=lambda witness: witness.order)
    if len(firsts) <= _SHOWN:
        return firsts
    step = (len(firsts) - 1) / (_SHOWN - 1)
    return [firsts[round(step * at)] for at in range(_SHOWN)]


class Admission:
    """What may enter beside the claims of the tables: no benefit of what harms, no second nature.

    A claim that the tables make is borne out; a new one must pass.
    """

    def __init__(self, starter: Starter) -> None:
        self._class = {each.id: each.class_name for each in starter.concepts.by_id.values()}
        self._groups = {above for group in starter.broader.values() for above in group}
        self.made: set[Key] = set()
        self._of: dict[tuple[str, str], set[str]] = defaultdict(set)
        for claim in starter.claims:
            if claim.polarity is Polarity.POSITIVE:
                parts = claim.subject.value, claim.predicate.value, text(claim.object)
                subject, predicate, value = map(local_name, parts)
                self.made.add((subject, predicate, value))
                self._of[subject, predicate].add(value)
        self._harmed = {(s, o) for s, p, o in self.made if p in _HARMS}
        self._harmed |= {(o, s) for s, o in self._harmed}

    def key(self, subject: str, predicate: str, value: str) -> Key:
        """Return a claim as the tables make it: of a symptom, ``relieves``."""
        if predicate == "indicatedFor" and (subject, predicate, value) not in self.made:
            return subject, "relieves", value
        return subject, predicate, value

    def fewest(self, claim: Key) -> int:
        """Return how many witnesses a claim needs; 0 where none are enough."""
        subject, predicate, _ = claim
        if self._class.get(subject) not in _MATERIALS:
            return 0
        if claim in self.made:
            return _FEWEST
        if subject in self._groups or (predicate in _SETTLED and self._of[subject, predicate]):
            return 0
        if predicate == "contraindicatedIn" and self._class[subject] == "Food":
            return 0  # old fears of foods are cautions at most
        if predicate in _BENEFITS and not self._is_everyday(subject):
            return 0
        return _NEW.get(predicate, 0)

    def _is_everyday(self, subject: str) -> bool:
        return (
            self._class[subject] in _EATEN
            and not any(self._of[subject, name] & barred for name, barred in _BARRED.items())
            and (subject, _PRESSED) not in self._harmed
        )


def select(
    witnesses: Iterable[Witness], admission: Admission, folder: Path | None = None
) -> Counter[str]:
    """Write the pointers of the claims that enter, best witnessed first; return counts.

    A place in a book to which another table of ``folder`` points for the claim is left out.
    """
    places: dict[Key, list[Witness]] = defaultdict(list)
    for witness in witnesses:
        if admission.fewest(witness.claim):
            places[witness.claim].append(witness)
    grouped = {claim: independent(found_witnesses) for claim, found_witnesses in places.items()}
    enough = [claim for claim, group in grouped.items() if len(group) >= admission.fewest(claim)]
    enough = sorted(_consistent(enough, grouped), key=lambda one: (-len(grouped[one]), one))
    folder = folder or artefact(EVIDENCE)
    listed = {(*row.claim, row.key) for row in read_pointers(folder) if row.corpus != CORPUS}
    rows = [
        _pointer(each, SUPPORTS if claim in admission.made else STATES)
        for claim in enough[:MOST]
        for each in choose_witnesses(grouped[claim])
        if (*claim, each.book.file) not in listed
    ]
    write_pointers(folder / f"{CORPUS}.tsv", rows, "bench/books.py select")
    new = sum(claim not in admission.made for claim in enough[:MOST])
    return Counter(
        claims=len(grouped),
        enough=len(enough),
        entering=len(enough[:MOST]),
        new=new,
        pointers=len(rows),
    )


def _consistent(claims: Iterable[Key], grouped: Mapping[Key, Sequence[object]]) -> Iterator[Key]:
    """Yield the claims without benefits that others warn of, and of two natures the leading one."""
    known = set(claims)
    harmed = {(subject, value) for subject, predicate, value in known if predicate in _HARMS}
    for row in known:
        if row[1] in _BENEFITS and (row[0], row[2]) in harmed:
            continue
        rivals = (len(grouped[one]) for one in known if one[:2] == row[:2] and one != row)
        if row[1] not in _SINGLE or len(grouped[row]) >= 2 * max(rivals, default=0):
            yield row


def _pointer(witness: Witness, verdict: str) -> PointerRow:
    digest, place = text_digest(witness.quote), Place(CORPUS, 0)
    subject, predicate, value = witness.claim
    return PointerRow(
        CORPUS,
        subject,
        predicate,
        value,
        verdict,
        _FILE,
        witness.book.file,
        _COLUMN,
        witness.start,
        witness.end,
        digest,
        place,
    )
