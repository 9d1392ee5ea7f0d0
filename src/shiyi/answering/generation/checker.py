"""Decide whether a sentence says no more than the claims it cites.

Default deny: every word of a sentence has to be accounted for. It is a name of an end of a claim, a
word of the claim's notes, a word by which the claim's relation, rating or severity may be stated
(``ontology/lexicon/grounding.tsv``), or a word that states nothing. Both ends and the relation
must be named, and where a verb stands between the ends, in the order that the claim states.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, Self

from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.vocabulary import (
    ANY,
    NOTED,
    STOPS,
    Entry,
    Match,
    Units,
    Vocabulary,
    units_of,
)

_SAFETY: Final = frozenset({
    "interactsWith", "contraindicatedIn", "cautionIn", "unsuitableFood", "incompatibleWith",
    "opposes", "fears", "hasAdverseReaction", "hasToxicity", "confusedWith",
})  # fmt: skip
_PURPORTED: Final = "purported use"
_SYMMETRIC: Final = frozenset({"incompatibleWith", "opposes", "confusedWith"})
# relations that a sentence states by naming both ends: honey is sweet
_PROPERTIES: Final = frozenset({
    "hasNature", "hasFlavour", "hasMeridianTropism", "hasToxicity", "hasEfficacy",
})  # fmt: skip
# relations that a harm named by their notes states: it raises bleeding
_IMPLIED: Final = frozenset({"interactsWith", "cautionIn", "hasAdverseReaction", "hasToxicity"})
_FORBIDDEN: Final = frozenset({
    "contraindicatedIn", "incompatibleWith", "opposes", "fears", "unsuitableFood",
})  # fmt: skip
_CONDITIONS: Final = frozenset({"cautionIn", "contraindicatedIn"})
_USES: Final = frozenset({"relieves", "indicatedFor", "directedAt", "isEffectiveFor"})
_DOUBTFUL: Final = frozenset({"insufficient", "ineffective"})
_WIDEST: Final = 12  # units of a note that a sentence may repeat at once
_NOTES_CACHED: Final = 512  # premises


@dataclass(frozen=True, slots=True)
class Premise:
    """What a claim states, as far as a sentence may repeat it.

    ``subject`` and ``object`` are all names of the two ends, ``notes`` all texts that the claim's
    evidence adds (notes, amounts, in both languages). ``relation`` is the local name of the
    property; ``source`` the identifiers of its sources.
    """

    subject: frozenset[str]
    relation: str
    object: frozenset[str]
    polarity: str = "positive"
    rating: str = ""
    severity: str = ""
    grade: str = ""
    notes: tuple[str, ...] = ()
    source: str = ""
    opposed: bool = False  # stands for the contrary of the claim, to find what contradicts it

    @property
    def is_safety(self) -> bool:
        """Return whether the claim is about a harm."""
        return self.relation in _SAFETY and self.polarity == "positive"

    @property
    def is_doubtful(self) -> bool:
        """Return whether the claim itself says that the effect is not shown."""
        return self.rating in _DOUBTFUL or self.grade == _PURPORTED

    def contrary(self) -> str:
        """Return the key of the words that deny the claim."""
        if self.polarity == "positive" and self.relation in _SAFETY:
            return "opposed:harm"
        return "opposed:doubt" if self.is_doubtful else "opposed:benefit"

    def required(self) -> frozenset[str]:
        """Return the keys of which one has to be stated by a cue."""
        if self.opposed:
            return frozenset({self.contrary()})
        if self.polarity == "negative":
            return frozenset({"denied"})
        if self.grade == _PURPORTED:
            return frozenset({"purported"})
        if self.rating in _DOUBTFUL or self.rating == "possible":
            return frozenset({f"rating:{self.rating}"})
        return frozenset({self.relation, self.rating, self.severity, f"rating:{self.rating}"} - {""})


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a sentence that is accounted for; ``end`` of a name: ``subject`` or ``object``."""

    start: int
    stop: int
    end: str = ""
    entry: Entry | None = None
    note: bool = False
    guarded: bool = False  # of a part of a note that forbids or denies
    part_of: str = ""  # of a single word of a name: the end, which has to be named otherwise

    @property
    def cost(self) -> tuple[int, int, int]:
        """Return what the piece adds to a reading: names are wanted, then few pieces, then cues."""
        return -bool(self.end), 1, -bool(self.entry is not None and self.entry.cue)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as units, with the phrases of the vocabulary that it has."""

    units: Units
    matches: tuple[Match, ...]
    vocabulary: Vocabulary

    @classmethod
    def of(cls, text: str | Units, vocabulary: Vocabulary | None = None) -> Self:
        """Read a text, or units that were cut from one."""
        known = vocabulary or Vocabulary.load()
        units = units_of(text) if isinstance(text, str) else text
        return cls(units, tuple(known.matches(units)), known)

    def has(self, key: str, start: int = 0, stop: int | None = None) -> bool:
        """Return whether one of its units is a word of a key."""
        return not self.vocabulary.words(key).isdisjoint(self.units[start:stop])

    def mentions(self, key: str) -> bool:
        """Return whether it has a phrase of a key."""
        return any(each.key == key for match in self.matches for each in match.entries)

    def has_dose(self) -> bool:
        """Return whether it states a number with a unit of doses."""
        counted = self.vocabulary.words("class:number")
        return any(
            (first[0].isdigit() or first in counted) and second in self.vocabulary.words("class:dose")
            for first, second in pairwise(self.units)
        )

    def clauses(self) -> Iterator["Sentence"]:
        """Yield the clauses, without the words and stops that part them."""
        ends, clause = self.vocabulary.words("class:clause-end"), list[str]()
        for unit in (*self.units, "."):
            if unit not in ends:
                clause.append(unit)
            elif clause:
                yield Sentence.of(tuple(clause), self.vocabulary)
                clause = []

    def permits(self) -> bool:
        """Return whether it says that something may be taken."""
        words = self.vocabulary.words
        permitting, using = words("class:permitting"), words("class:using")
        refusing = words("class:refusing")
        units = tuple(unit for unit in self.units if unit != "be")
        return any(
            second in using
            and first in permitting
            and refusing.isdisjoint(units[max(0, at - 1) : at + 1])
            and not (first.isascii() and not refusing.isdisjoint(units))
            for at, (first, second) in enumerate(pairwise(units))
        )


def unverified(text: str | Sentence, premises: Sequence[Premise]) -> str:
    """Return why a sentence is not verified by the claims it cites; empty where it is.

    None is that has a phrase of advice that may harm (:func:`dangers`). A sentence over several claims is cut into clauses; each has to be verified by one of the
    claims, or by several that share an end and the relation, and each claim has to be stated.

    >>> goji = Premise(frozenset({"goji"}), "hasNature", frozenset({"neutral"}))
    >>> unverified("Goji is neutral.", [goji])
    ''
    >>> unverified("Goji is hot.", [goji])
    'not accounted for: hot'
    """
    sentence = text if isinstance(text, Sentence) else Sentence.of(text)
    if not premises:
        return "cites no claim"
    if reasons := dangers(sentence.units, _medicines(premises)):
        return reasons[0]
    if len(premises) == 1:
        return _Reading.of(sentence, premises[0]).fault
    stated, fault = _stated(sentence, premises)
    return fault or ("" if len(stated) == len(premises) else "does not state every claim it cites")


def supporting(text: str | Sentence, premises: Sequence[Premise]) -> tuple[int, ...]:
    """Return the places of the claims that verify a sentence; empty where they do not.

    One claim that verifies the whole sentence goes before several that verify its clauses.

    >>> goji = frozenset({"goji"})
    >>> flavour = Premise(goji, "hasFlavour", frozenset({"sweet"}))
    >>> nature = Premise(goji, "hasNature", frozenset({"neutral"}))
    >>> supporting("Goji is sweet, goji is neutral.", [nature, flavour])
    (0, 1)
    >>> supporting("Goji is bitter.", [flavour])
    ()
    """
    sentence = text if isinstance(text, Sentence) else Sentence.of(text)
    if dangers(sentence.units, _medicines(premises)):
        return ()
    readings = (_Reading.of(sentence, premise) for premise in premises)
    whole = tuple(place for place, reading in enumerate(readings) if not reading.fault)
    if whole or len(premises) < 2:
        return whole
    stated, fault = _stated(sentence, premises)
    return () if fault else tuple(sorted(stated))


def _medicines(premises: Iterable[Premise]) -> Iterator[str]:
    """Yield the names of what others interact with: mostly medicines."""
    for premise in premises:
        if premise.relation == "interactsWith":
            yield from premise.object


def _stated(sentence: Sentence, premises: Sequence[Premise]) -> tuple[set[int], str]:
    """Return the claims that a sentence states, whole or by clauses, or why it is not verified."""
    stated, fault = _by_clauses([sentence], premises)
    clauses = tuple(sentence.clauses()) if fault else ()
    return _by_clauses(clauses, premises) if len(clauses) > 1 else (stated, fault)


def _by_clauses(clauses: Sequence[Sentence], premises: Sequence[Premise]) -> tuple[set[int], str]:
    """Return the claims that clauses state, or why one of them is not verified.

    A clause that names no subject goes on about that of the clause before it; one that names no
    end at all introduces the others.
    """
    groups = tuple(_groups(premises))
    stated: set[int] = set()
    subject: frozenset[str] = frozenset()
    for clause in clauses:
        readings = [
            (_Reading.of(clause, joined, subject == joined.subject), places)
            for joined, places in groups
        ]
        if any(reading.is_introduction for reading, _ in readings):
            continue
        verified = [(reading, places) for reading, places in readings if not reading.fault]
        if not verified:
            return set(), min((reading.fault for reading, _ in readings), key=len)
        reading, places = verified[0]
        subject = reading.premise.subject
        stated.update(p for p in places if reading.names(premises[p]))
    return stated, "" if stated else "does not state any claim it cites"


def _groups(premises: Sequence[Premise]) -> Iterable[tuple[Premise, tuple[int, ...]]]:
    """Yield each claim, and claims that differ in one end alone as one, with their places."""
    groups: dict[Premise, list[int]] = {}
    for place, each in enumerate(premises):
        for key in (
            replace(each, object=frozenset(), notes=(), source=""),
            replace(each, subject=frozenset(), notes=(), source=""),
        ):
            groups.setdefault(key, []).append(place)
    for key, places in groups.items():
        some = [premises[place] for place in places]
        if len(some) == 1 and key.subject:
            yield some[0], tuple(places)
        elif len(some) > 1:
            joined = replace(
                key,
                subject=frozenset().union(*(p.subject for p in some)),
                object=frozenset().union(*(p.object for p in some)),
                notes=tuple(note for p in some for note in p.notes),
                source=" ".join(p.source for p in some),
            )
            yield joined, tuple(places)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A sentence or clause read over one claim; ``fault`` is empty where it is verified."""

    premise: Premise
    sentence: Sentence
    pieces: tuple[_Piece, ...] = ()
    fault: str = ""

    @classmethod
    def of(cls, sentence: Sentence, premise: Premise, is_carried: bool = False) -> Self:
        """Read a sentence; without a subject, that of the clause before is taken."""
        compiled = _compiled(premise, sentence.vocabulary)
        pieces, missing = _cover(sentence, compiled)
        made = cls(premise, sentence, tuple(pieces))
        named = {piece.end for piece in pieces} | ({"subject"} if is_carried else set())
        missing += [sentence.units[p.start] for p in pieces if p.part_of and p.part_of not in named]
        if missing:
            return replace(made, fault="not accounted for: " + " ".join(missing))
        if not {"subject", "object"} <= named:
            return replace(made, fault="does not name both ends of the claim")
        stated = {p.entry.key for p in pieces if p.entry and p.entry.cue}
        if not stated & compiled.required and (premise.opposed or not made._implies(compiled)):
            return replace(made, fault="does not state the relation of the claim")
        return replace(made, fault=made._turned() or _misordered(pieces, premise))

    def _implies(self, compiled: "_Compiled") -> bool:
        """Return whether naming the ends, or what the note says of them, states the relation."""
        premise = self.premise
        if premise.polarity == "negative":
            return False
        if premise.relation in _PROPERTIES:
            return True
        noted = any(piece.note for piece in self.pieces)
        if premise.relation == "hasIngredient":
            return noted
        is_harm = premise.relation in _IMPLIED and not compiled.is_prohibited
        return noted and is_harm and not (premise.relation == "cautionIn" and self.sentence.permits())

    def _turned(self) -> str:
        """Return a fault where the words of the claim are put together to say another thing."""
        premise, sentence = self.premise, self.sentence
        if premise.relation in _FORBIDDEN and not premise.opposed and sentence.permits():
            return "allows what its claim forbids"
        if any(p.guarded for p in self.pieces) and not sentence.has("class:guard"):
            return "leaves out what its note forbids"
        for piece, following in pairwise(self.pieces):
            if (
                piece.stop == following.start
                and not following.end
                and sentence.has("class:denying", piece.start, piece.stop)
                and sentence.has("class:avoiding", following.start, following.stop)
            ):
                return "denies what it forbids"
        if premise.relation not in _CONDITIONS:
            return ""
        telling = [p for p in self.pieces if p.end or p.note or not p.entry or p.entry.key != ANY]
        for piece, following in pairwise(telling):
            words = sentence.units[piece.start : piece.stop]
            if piece.note and following.end == "object" and Sentence.of(words, sentence.vocabulary).mentions("causing"):
                return "makes the condition an effect"
        return ""

    @property
    def is_introduction(self) -> bool:
        """Return whether all words are accounted for and none names an end."""
        covered = sum(p.stop - p.start for p in self.pieces)
        return (
            covered == sum(u not in STOPS for u in self.sentence.units)
            and not any(piece.end for piece in self.pieces)
            and not self.sentence.has("class:denying")
            and not self.sentence.permits()
        )

    def names(self, premise: Premise) -> bool:
        """Return whether a claim that was joined with others has its object or subject named."""
        compiled = _compiled(premise, self.sentence.vocabulary)
        own = {end: getattr(premise, end) for end in ("object", "subject")}
        differing = [end for end in own if own[end] != getattr(self.premise, end)]
        spans = {
            (start, stop, piece.end)
            for start in range(len(self.sentence.units))
            for stop, piece in compiled.names_at(self.sentence.units, start)
        }
        return all(
            any((p.start, p.stop, end) in spans for p in self.pieces if p.end == end)
            for end in differing
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Compiled:
    """What may stand in a sentence over a claim: names, parts of notes, keys of the vocabulary.

    ``order``: which end stands before a verb of an interaction, by what its note says.
    """

    names: dict[str, tuple[tuple[Units, str], ...]]  # by first unit; with the end they name
    bags: dict[frozenset[str], str]  # the words of names in any order
    words: dict[str, str]  # single words of names
    notes: dict[Units, bool]  # parts of notes, and whether they forbid or deny
    noted: dict[str, bool]  # the same for groups of words that mean what a note says
    keys: frozenset[str]
    required: frozenset[str]
    order: str
    is_prohibited: bool
    is_use: bool
    vocabulary: Vocabulary

    def names_at(self, units: Units, start: int) -> Iterator[tuple[int, _Piece]]:
        """Yield where names that begin at a place stop."""
        for name, end in self.names.get(units[start], ()):
            for stop in self._stops(name, units, start, len(name)):
                if stop > start:
                    yield stop, _Piece(start, stop, end)
        yield from self._bags_at(units, start)
        if end := self.words.get(units[start], ""):
            yield start + 1, _Piece(start, start + 1, part_of=end)

    def _bags_at(self, units: Units, start: int) -> Iterator[tuple[int, _Piece]]:
        """Yield where names stop that have their words in another order."""
        if units[start] not in self.words:
            return
        glue, bag = self.vocabulary.words("class:glue"), set[str]()
        for at in range(start, min(start + _WIDEST, len(units))):
            if units[at] in self.words:
                bag.add(units[at])
                if end := self.bags.get(frozenset(bag), ""):
                    yield at + 1, _Piece(start, at + 1, end)
            elif units[at] not in glue and units[at] != ",":
                return

    def _stops(self, name: Units, units: Units, at: int, left: int) -> Iterator[int]:
        """Yield where a name stops that goes on at a place, with synonyms and words between.

        ``left``: units of the whole name that are not left out.
        """
        if not name:
            yield at
            return
        if at < len(units) and units[at] == name[0]:
            yield from self._stops(name[1:], units, at + 1, left)
        for part, other in self.vocabulary.alternatives(name, is_use=self.is_use):
            if other and units[at : at + len(other)] == other:
                yield from self._stops(name[len(part) :], units, at + len(other), left)
            elif not other and left > len(part) + 1:
                yield from self._stops(name[len(part) :], units, at, left - len(part))
        glue = self.vocabulary.words("class:glue")
        if at and at < len(units) and units[at] in glue and units[at] != name[0]:
            yield from self._stops(name, units, at + 1, left)
        if name[0] in glue and len(name) > 1:
            yield from self._stops(name[1:], units, at, left - 1)


@lru_cache(_NOTES_CACHED)
def _compiled(premise: Premise, vocabulary: Vocabulary) -> _Compiled:
    """Return what may stand in a sentence over the claim."""
    is_use = premise.relation in _USES
    names: dict[str, dict[tuple[Units, str], None]] = {}
    bags, words = dict[frozenset[str], str](), dict[str, str]()
    negations, glue = vocabulary.words("class:negation"), vocabulary.words("class:glue")
    dependent = vocabulary.words("class:dependent")
    for end in ("subject", "object"):
        for label in getattr(premise, end):
            name = units_of(label)
            if not name or set(name) <= negations:
                continue
            for first in _firsts(name, vocabulary, is_use=is_use):
                names.setdefault(first, {})[name, end] = None
            content = frozenset(name) - glue
            words |= {unit: end for unit in content - dependent if unit not in STOPS}
            if len(content) > 1 and label.isascii():
                bags[content] = end
    notes, noted, order = dict[Units, bool](), dict[str, bool](), ""
    readings = [Sentence.of(note, vocabulary) for note in premise.notes]
    for note in readings:
        for clause in _note_clauses(note):
            is_guarded = clause.has("class:guard")
            for part in _parts(clause.units, vocabulary):
                notes[part] = notes.get(part, True) and is_guarded
            for key, guarded in _noted(clause):
                noted[key] = noted.get(key, True) and guarded
    if premise.relation == "interactsWith":  # what a note says of one end it does to the other
        reverses = any(_begins(note, premise, vocabulary) for note in readings)
        order = "object-first" if reverses else "subject-first"
    interacts = premise.relation == "interactsWith" and not premise.opposed
    is_prohibited = interacts and any(note.mentions("prohibition") for note in readings)
    keys = _keys(premise, readings, vocabulary)
    required = premise.required()
    if premise.relation in required:
        required |= keys & {"avoided", "avoid"}
    if is_prohibited:
        keys, required = keys | {"avoided"}, frozenset({"avoided"})
    by_first = {first: tuple(each) for first, each in names.items()}
    return _Compiled(
        by_first, bags, words, notes, noted, keys, required, order, is_prohibited, is_use, vocabulary
    )


def _keys(premise: Premise, notes: Iterable[Sentence], vocabulary: Vocabulary) -> frozenset[str]:
    """Return the keys of the words by which a claim may be stated."""
    keys = {ANY, *(f"source:{each}" for each in premise.source.replace("|", " ").replace(",", " ").split())}
    if premise.opposed:
        return frozenset({*keys, premise.contrary(), f"{premise.relation}:topic"})
    if premise.polarity == "negative":
        return frozenset({*keys, "denied"})
    keys |= {premise.severity} - {""}
    if not premise.is_doubtful:
        keys.add(premise.relation)
    if premise.grade == _PURPORTED:
        keys.add("purported")
    if premise.rating:
        keys |= {f"rating:{premise.rating}", premise.rating}
    if Sentence.of(premise.grade, vocabulary).mentions("class:forbidding-grade"):
        keys.add("avoided")
    if premise.relation == "cautionIn" and any(n.mentions("class:unsuited-note") for n in notes):
        keys.add("avoid")
    return frozenset(keys)


def _begins(note: Sentence, premise: Premise, vocabulary: Vocabulary) -> bool:
    """Return whether a note says what the object of a claim does."""
    first = any(
        not match.start and entry.key == "class:drug-first"
        for match in note.matches
        for entry in match.entries
    )
    names = (units_of(each) for each in premise.object)
    return first or any(name and note.units[: len(name)] == name for name in names)


def _firsts(name: Units, vocabulary: Vocabulary, *, is_use: bool) -> Iterator[str]:
    """Yield the units that a name may begin with."""
    if not name:
        return
    yield name[0]
    for part, other in vocabulary.alternatives(name, is_use=is_use):
        if other:
            yield other[0]
        else:
            yield from _firsts(name[len(part) :], vocabulary, is_use=is_use)
    if name[0] in vocabulary.words("class:glue"):
        yield from _firsts(name[1:], vocabulary, is_use=is_use)


def _note_clauses(note: Sentence) -> Iterator[Sentence]:
    """Yield the clauses of a note; an English comma and a Chinese one of lists do not end one."""
    clause: list[str] = []
    for unit in (*note.units, "."):
        is_listing = unit == "、" or (unit == "," and (not clause or clause[-1].isascii()))
        if unit in STOPS and not is_listing:
            yield Sentence.of(tuple(clause), note.vocabulary)
            clause = []
        else:
            clause.append(unit)


def _noted(clause: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the keys of words that mean what a clause says, and whether the rest forbids it."""
    negations = clause.vocabulary.words("class:negation")
    for match in clause.matches:
        if not match.start or clause.units[match.start - 1] not in negations:
            guarded = clause.has("class:guard", 0, match.start) or clause.has(
                "class:guard", match.stop
            )
            yield from ((e.key, guarded) for e in match.entries if e.key.startswith(NOTED))


def _parts(units: Units, vocabulary: Vocabulary) -> Iterator[Units]:
    """Yield the parts of a note that a sentence may repeat.

    A negation or a word such as up states nothing by itself, so it only comes with what stands
    beside it in the note; so does what is denied with its denial.
    """
    negations, dependent = vocabulary.words("class:negation"), vocabulary.words("class:dependent")
    for start, first in enumerate(units):
        if start and units[start - 1] in negations:
            continue
        for stop in range(start + 1, min(start + _WIDEST, len(units)) + 1):
            part = units[start:stop]
            if part[-1] in STOPS:
                break
            if len(part) > 1 or first not in dependent:
                yield part


def _cover(sentence: Sentence, compiled: _Compiled) -> tuple[list[_Piece], list[str]]:
    """Return the fewest pieces that cover a sentence, and the units that nothing covers."""
    units = sentence.units
    at = [[piece for _, piece in compiled.names_at(units, start)] for start in range(len(units))]
    for match in sentence.matches:
        entry = _entry_of(match, compiled)
        if entry is not None:
            at[match.start].append(_Piece(match.start, match.stop, entry=entry))
    for start, pieces in enumerate(at):
        pieces += _notes_at(units, start, compiled)
    for match in sentence.matches:
        guards = [compiled.noted[e.key] for e in match.entries if e.key in compiled.noted]
        if guards:
            at[match.start].append(_note_piece(match.start, match.stop, all(guards), compiled))
    # cost of what follows a place: units not covered, then the costs of its pieces
    best: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)] * (len(units) + 1)
    chosen: list[_Piece | None] = [None] * len(units)
    for start in range(len(units) - 1, -1, -1):
        if units[start] in STOPS:
            best[start] = best[start + 1]
            continue
        lost, *rest = best[start + 1]
        best[start] = (lost + 1, rest[0], rest[1], rest[2])
        for piece in at[start]:
            lost, *rest = best[piece.stop]
            names, count, cues = piece.cost
            cost = (lost, rest[0] + names, rest[1] + count, rest[2] + cues)
            if cost < best[start]:
                best[start], chosen[start] = cost, piece
    found, missing, place = list[_Piece](), list[str](), 0
    while place < len(units):
        if (covering := chosen[place]) is not None:
            found.append(covering)
            place = covering.stop
            continue
        if units[place] not in STOPS:
            missing.append(units[place])
        place += 1
    return found, missing


def _notes_at(units: Units, start: int, compiled: _Compiled) -> Iterator[_Piece]:
    """Yield the parts of notes that begin at a place, the longest first."""
    for stop in range(min(start + _WIDEST, len(units)), start, -1):
        if (guarded := compiled.notes.get(units[start:stop])) is not None:
            yield _note_piece(start, stop, guarded, compiled)


def _note_piece(start: int, stop: int, guarded: bool, compiled: _Compiled) -> _Piece:
    entry = Entry("note", order=compiled.order)
    return _Piece(start, stop, entry=entry, note=True, guarded=guarded)


def _entry_of(match: Match, compiled: _Compiled) -> Entry | None:
    """Return the entry of a phrase that the claim may be stated with, a cue before others."""
    usable = [each for each in match.entries if each.key in compiled.keys]
    entry = next((each for each in usable if each.cue), next(iter(usable), None))
    if entry is not None and entry.order and compiled.order:
        return replace(entry, order=compiled.order)
    return entry


def _misordered(pieces: Sequence[_Piece], premise: Premise) -> str:
    """Return a fault where a verb stands between the ends of a claim the wrong way round."""
    if premise.relation in _SYMMETRIC:
        return ""
    turned = False
    for at, piece in enumerate(pieces):
        if piece.entry is None or not piece.entry.order:
            continue
        first, second = (
            ("subject", "object") if piece.entry.order == "subject-first" else ("object", "subject")
        )
        before = next((p.end for p in reversed(pieces[:at]) if p.end), "")
        after = next((p.end for p in pieces[at + 1 :] if p.end), "")
        if piece.entry.cue and (before, after) == (first, second):
            return ""
        turned |= (before, after) == (second, first)
    return "turns the relation of the claim around" if turned else ""
