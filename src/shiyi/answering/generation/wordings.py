"""The words by which a claim may be stated: names of its ends, of its notes, of its relation."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from shiyi.answering.generation.premises import PURPORTED, Premise
from shiyi.answering.generation.vocabulary import (
    ANY,
    BEFORE_NAME,
    DUTY,
    GUARDING,
    NOTED,
    STOPS,
    Entry,
    Match,
    Sentence,
    Units,
    Vocabulary,
    split_units,
)

_USES: Final = frozenset({"relieves", "indicatedFor", "directedAt", "isEffectiveFor"})
_WIDEST: Final = 12  # units of a name or a note that a sentence may repeat at once
_CACHED: Final = 512  # premises
_NOTE: Final = "note"
_BETWEEN: Final = frozenset({"subject-first", "object-first"})
_ENDS: Final = ("subject", "object")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence that is accounted for, by a name, a note or a phrase of the table.

    ``end`` is ``subject`` or ``object`` of a name. ``guarded``: the note forbids or denies what
    the part repeats. ``part_of``: a single word of a name, which has to be named otherwise.
    """

    start: int
    stop: int
    end: str = ""
    entry: Entry | None = None
    guarded: bool = False
    part_of: str = ""

    @property
    def is_note(self) -> bool:
        """Return whether it repeats a note."""
        return self.entry is not None and self.entry.key == _NOTE

    @property
    def is_cue(self) -> bool:
        """Return whether its words state the relation itself."""
        return self.entry is not None and self.entry.cue

    @property
    def cost(self) -> tuple[int, int, int]:
        """Return what the piece adds to a reading: names are wanted, then few pieces, then cues."""
        return -bool(self.end), 1, -self.is_cue


@dataclass(frozen=True, slots=True, eq=False)
class Wording:
    """What may stand in a sentence over a claim.

    ``required`` are the keys of which a cue has to stand, ``order`` is the order of the ends
    around a verb of an interaction, by what the note says. ``is_prohibited``: not to combine.
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

    def pieces(self, sentence: Sentence) -> list[list[Piece]]:
        """Return the pieces that begin at each unit of a sentence."""
        units = sentence.units
        results = [list(self.names_at(units, start)) for start in range(len(units))]
        for match in sentence.matches:
            entry = self._entry(match)
            if entry and entry.order == BEFORE_NAME:
                persons = self.vocabulary.words("class:persons")
                after = (at for at in range(match.stop, len(units)) if units[at] not in persons)
                is_followed = any(p.end for p in results[next(after, match.start)])
                entry = replace(entry, order="") if is_followed else None
            if entry:
                results[match.start].append(Piece(match.start, match.stop, entry=entry))
        note = Entry(_NOTE, order=self.order)
        for start, pieces in enumerate(results):
            for stop in range(min(start + _WIDEST, len(units)), start, -1):
                if (guarded := self.notes.get(units[start:stop])) is not None:
                    pieces.append(Piece(start, stop, entry=note, guarded=guarded))
        for match in sentence.matches:
            guards = [self.noted[e.key] for e in match.entries if e.key in self.noted]
            if guards:
                piece = Piece(match.start, match.stop, entry=note, guarded=all(guards))
                results[match.start].append(piece)
        return results

    def _entry(self, match: Match) -> Entry | None:
        """Return the entry of a phrase that the claim may be stated with, a cue before others."""
        usable = [each for each in match.entries if each.key in self.keys]
        usable.sort(key=lambda each: (each.key not in self.required, not each.cue))
        entry = next((each for each in usable if each.cue), next(iter(usable), None))
        if entry is not None and entry.order in _BETWEEN and self.order:
            return replace(entry, order=self.order)
        return entry

    def names_at(self, units: Units, start: int) -> Iterator[Piece]:
        """Yield the names, and the single words of names, that begin at a place."""
        for name, end in self.names.get(units[start], ()):
            for stop in self._stops(name, units, start, len(name)):
                if stop > start:
                    yield Piece(start, stop, end)
        if end := self.words.get(units[start], ""):
            yield from self._bags_at(units, start)
            yield Piece(start, start + 1, part_of=end)

    def _bags_at(self, units: Units, start: int) -> Iterator[Piece]:
        """Yield names that have their words in another order."""
        glue, bag = self.vocabulary.words("class:glue"), set[str]()
        for at in range(start, min(start + _WIDEST, len(units))):
            if units[at] in self.words:
                bag.add(units[at])
                if end := self.bags.get(frozenset(bag), ""):
                    yield Piece(start, at + 1, end)
            elif units[at] not in glue and units[at] != ",":
                return

    def _stops(self, name: Units, units: Units, at: int, left: int) -> Iterator[int]:
        """Yield where a name stops that goes on at a place, with synonyms and words between."""
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


@lru_cache(_CACHED)
def wording_of(premise: Premise, vocabulary: Vocabulary) -> Wording:
    """Return what may stand in a sentence over the claim."""
    is_use, interacts = premise.relation in _USES, premise.relation == "interactsWith"
    named = tuple(_list_names(premise, vocabulary))
    glue, dependent = vocabulary.words("class:glue"), vocabulary.words("class:dependent")
    names: dict[str, dict[tuple[Units, str], None]] = {}
    bags, words = dict[frozenset[str], str](), dict[str, str]()
    for name, end in named:
        for first in _firsts(name, vocabulary, is_use=is_use):
            names.setdefault(first, {})[name, end] = None
        content = frozenset(name) - glue
        words |= dict.fromkeys(content - dependent - STOPS, end)
        if len(content) > 1 and all(map(str.isascii, name)):
            bags[content] = end
    readings = [Sentence.of(note, vocabulary) for note in premise.notes]
    notes, noted = _notes(readings)
    order = ""
    if interacts:  # what a note says of one end it does to the other
        reverses = any(_begins(note, named) for note in readings)
        order = "object-first" if reverses else "subject-first"
    is_prohibited = (
        interacts and not premise.opposed and any(note.mentions("prohibition") for note in readings)
    )
    keys, required = _keys(premise, readings), premise.required_keys()
    if premise.relation in required:
        required |= keys & {"avoided", "avoid"}
    if not premise.opposed and any((*notes.values(), *noted.values())):
        keys |= {GUARDING, DUTY}
    if is_prohibited:
        keys, required = keys | {"avoided"}, required | {"avoided"}
    by_first = {first: tuple(record) for first, record in names.items()}
    return Wording(
        by_first,
        bags,
        words,
        notes,
        noted,
        keys,
        required,
        order,
        is_prohibited,
        is_use,
        vocabulary,
    )


def _list_names(premise: Premise, vocabulary: Vocabulary) -> Iterator[tuple[Units, str]]:
    """Yield the names of both ends as units."""
    negations = vocabulary.words("class:negation")
    for end in _ENDS:
        for label in getattr(premise, end):
            name = split_units(label)
            if not negations.issuperset(name):
                yield name, end


def _notes(readings: Iterable[Sentence]) -> tuple[dict[Units, bool], dict[str, bool]]:
    """Return the parts of notes, and the keys of words that mean them, with what guards them."""
    notes, noted = dict[Units, bool](), dict[str, bool]()
    for clause in (clause for note in readings for clause in _clauses(note)):
        is_guarded = clause.guards()
        for part in _parts(clause):
            notes[part] = notes.get(part, True) and is_guarded
        for key, guarded in _list_clause_keys(clause):
            noted[key] = noted.get(key, True) and guarded
    return notes, noted


def _keys(premise: Premise, notes: Iterable[Sentence]) -> frozenset[str]:
    """Return the keys of the words by which a claim may be stated."""
    sources = premise.source.replace("|", " ").replace(",", " ").split()
    keys = {ANY, *(f"source:{source}" for source in sources)}
    if premise.opposed:
        return frozenset({*keys, premise.contrary(), f"{premise.relation}:topic"})
    if premise.polarity == "negative":
        return frozenset({*keys, "denied"})
    keys |= {premise.severity} - {""}
    if not premise.is_doubtful:
        keys.add(premise.relation)
    if premise.grade == PURPORTED:
        keys.add("purported")
    if premise.rating:
        keys |= {f"rating:{premise.rating}", premise.rating}
    if Sentence.of(premise.grade).mentions("class:forbidding-grade"):
        keys.add("avoided")
    if premise.relation == "cautionIn" and any(n.mentions("class:unsuited-note") for n in notes):
        keys.add("avoid")
    return frozenset(keys)


def _begins(note: Sentence, named: Iterable[tuple[Units, str]]) -> bool:
    """Return whether a note says what the object of a claim does."""
    first = any(
        not match.start and entry.key == "class:drug-first"
        for match in note.matches
        for entry in match.entries
    )
    return first or any(end == "object" and note.units[: len(name)] == name for name, end in named)


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


def _clauses(note: Sentence) -> Iterator[Sentence]:
    """Yield the clauses of a note; an English comma and a Chinese one of lists do not end one."""
    clause: list[str] = []
    contrasts = note.vocabulary.words("class:contrast")
    for unit in (*note.units, "."):
        is_listing = unit == "、" or (unit == "," and (not clause or clause[-1].isascii()))
        if (unit in STOPS and not is_listing) or unit in contrasts:
            yield Sentence.of(tuple(clause), note.vocabulary)
            clause = []
        else:
            clause.append(unit)


def _list_clause_keys(clause: Sentence) -> Iterator[tuple[str, bool]]:
    """Yield the keys of words that mean what a clause says, and whether the rest forbids it."""
    negations = clause.vocabulary.words("class:negation")
    for match in clause.matches:
        if not match.start or clause.units[match.start - 1] not in negations:
            around = (clause.guards(0, match.start), clause.guards(match.stop))
            yield from ((e.key, any(around)) for e in match.entries if e.key.startswith(NOTED))


def _parts(clause: Sentence) -> Iterator[Units]:
    """Yield the parts of a clause that a sentence may repeat."""
    units, words = clause.units, clause.vocabulary.words
    negations, dependent = words("class:negation"), words("class:dependent")
    for start, first in enumerate(units):
        if start and units[start - 1] in negations:
            continue
        for stop in range(start + 1, min(start + _WIDEST, len(units)) + 1):
            part = units[start:stop]
            if part[-1] in STOPS:
                break
            if len(part) > 1 or first not in dependent:
                yield part
