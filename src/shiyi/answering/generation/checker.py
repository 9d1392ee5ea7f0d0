"""Decide whether a sentence says no more than the claims it cites.

Default deny: every word of a sentence has to be accounted for. It is a name of an end of a claim, a
word of the claim's notes, a word by which the claim's relation, rating or severity may be stated
(``ontology/lexicon/grounding.tsv``), or a word that states nothing. Both ends and the relation
must be named, and where a verb stands between the ends, in the order that the claim states.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, starmap
from typing import Final, Self

from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.premises import PURPORTED, Premise
from shiyi.answering.generation.vocabulary import ANY, DUTY, GUARDING, STOPS, Sentence
from shiyi.answering.generation.wordings import Piece, Wording, wording_of

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
_DENYING: Final = frozenset({"rating:insufficient", "rating:ineffective", "denied", "purported"})
_CONDITIONS: Final = frozenset({"cautionIn", "contraindicatedIn"})


Names = frozenset[str]


def fault_of(
    text: str | Sentence, premises: Sequence[Premise], topics: Collection[Names] = ()
) -> str:
    """Return why a sentence is not verified by the claims it cites; empty where it is.

    None is that has a phrase of advice that may harm (:func:`dangers`). A sentence over several
    claims is cut into clauses; each has to be verified by one of the claims, or by several that
    share an end and the relation, and each claim has to be stated. ``topics`` are the names of
    what the sentences before are about, so that this one need not repeat it.

    >>> goji = Premise(frozenset({"goji"}), "hasNature", frozenset({"neutral"}))
    >>> fault_of("Goji is neutral.", [goji])
    ''
    >>> fault_of("Goji is hot.", [goji])
    'not accounted for: hot'
    """
    sentence = text if isinstance(text, Sentence) else Sentence.of(text)
    if not premises:
        return "cites no claim"
    if reasons := dangers(sentence.units, _medicines(premises)):
        return reasons[0]
    if len(premises) == 1:
        return _ClaimReading.of(sentence, premises[0], topics).fault
    stated, fault = _find_stated(sentence, premises, topics)
    return fault or ("" if len(stated) == len(premises) else "does not state every claim it cites")


def find_support(
    text: str | Sentence, premises: Sequence[Premise], topics: Collection[Names] = ()
) -> tuple[int, ...]:
    """Return the places of the claims that verify a sentence; empty where they do not.

    One claim that verifies the whole sentence goes before several that verify its clauses.

    >>> goji = frozenset({"goji"})
    >>> flavour = Premise(goji, "hasFlavour", frozenset({"sweet"}))
    >>> nature = Premise(goji, "hasNature", frozenset({"neutral"}))
    >>> find_support("Goji is sweet, goji is neutral.", [nature, flavour])
    (0, 1)
    >>> find_support("Goji is bitter.", [flavour])
    ()
    """
    sentence = text if isinstance(text, Sentence) else Sentence.of(text)
    if dangers(sentence.units, _medicines(premises)):
        return ()
    readings = (_ClaimReading.of(sentence, premise, topics) for premise in premises)
    whole = tuple(place for place, reading in enumerate(readings) if not reading.fault)
    if whole or len(premises) < 2:
        return whole
    stated, fault = _find_stated(sentence, premises, topics)
    return () if fault else tuple(sorted(stated))


def _medicines(premises: Iterable[Premise]) -> Iterator[str]:
    """Yield the names of what others interact with: mostly medicines."""
    for premise in premises:
        if premise.relation == "interactsWith":
            yield from premise.object


def _find_stated(
    sentence: Sentence, premises: Sequence[Premise], topics: Collection[Names]
) -> tuple[set[int], str]:
    """Return the claims that a sentence states, whole or by clauses, or why it is not verified."""
    stated, fault = _by_clauses([sentence], premises, topics)
    clauses = tuple(sentence.clauses()) if fault else ()
    return _by_clauses(clauses, premises, topics) if len(clauses) > 1 else (stated, fault)


def _by_clauses(
    clauses: Sequence[Sentence], premises: Sequence[Premise], topics: Collection[Names]
) -> tuple[set[int], str]:
    """Return the claims that clauses state, or why one of them is not verified."""
    groups = tuple(_groups(premises))
    stated: set[int] = set()
    for clause in clauses:
        readings = [
            (_ClaimReading.of(clause, premise, topics), places) for premise, places in groups
        ]
        if any(reading.is_introduction for reading, _ in readings):
            continue
        verified = [(reading, places) for reading, places in readings if not reading.fault]
        if not verified:
            return set(), min((reading.fault for reading, _ in readings), key=len)
        reading, places = verified[0]
        topics = (reading.premise.subject,)
        stated.update(p for p in places if reading.names(premises[p]))
    return stated, "" if stated else "does not state any claim it cites"


def _groups(premises: Sequence[Premise]) -> Iterable[tuple[Premise, tuple[int, ...]]]:
    """Yield each claim, and claims that differ in one end alone as one, with their places."""
    groups: dict[Premise, list[int]] = {}
    for place, premise in enumerate(premises):
        for key in (
            replace(premise, object=frozenset(), notes=(), source=""),
            replace(premise, subject=frozenset(), notes=(), source=""),
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
class _ClaimReading:
    """A sentence or clause read over one claim; ``fault`` is empty where it is verified."""

    premise: Premise
    sentence: Sentence
    pieces: tuple[Piece, ...] = ()
    fault: str = ""

    @classmethod
    def of(cls, sentence: Sentence, premise: Premise, topics: Collection[Names] = ()) -> Self:
        """Read a sentence; it need not name a subject that is among the topics."""
        wording = wording_of(premise, sentence.vocabulary)
        pieces, missing = _cover(sentence, wording)
        made = cls(premise, sentence, tuple(pieces))
        named = {piece.end for piece in pieces} | (
            {"subject"} if premise.subject in topics else set()
        )
        missing += [sentence.units[p.start] for p in pieces if p.part_of and p.part_of not in named]
        if missing:
            return replace(made, fault="not accounted for: " + " ".join(missing))
        if not {"subject", "object"} <= named:
            return replace(made, fault="does not name both ends of the claim")
        stated = {p.entry.key for p in pieces if p.entry and p.is_cue}
        notes = [p for p in pieces if p.is_note]
        stated |= {  # what a note says may state the relation
            entry.key
            for match in sentence.matches
            for entry in match.entries
            if entry.cue and any(p.start <= match.start and match.stop <= p.stop for p in notes)
        }
        if not stated & wording.required and (premise.opposed or not made._implies(wording)):
            return replace(made, fault="does not state the relation of the claim")
        if wording.is_prohibited and "avoided" not in stated and sentence.has("class:mild"):
            return replace(made, fault="softens what its claim forbids")
        return replace(made, fault=made._fault_of_turn() or _fault_of_order(pieces, premise))

    def _implies(self, wording: Wording) -> bool:
        """Return whether naming the ends, or what the note says of them, states the relation."""
        premise = self.premise
        if premise.polarity == "negative":
            return False
        if premise.relation in _PROPERTIES:
            return True
        noted = any(piece.is_note for piece in self.pieces)
        if premise.relation == "hasIngredient":
            return noted
        is_harm = premise.relation in _IMPLIED and not wording.is_prohibited
        if not (noted and is_harm) or self._praises():
            return False
        return premise.relation != "cautionIn" or not self.sentence.permits()

    def _praises(self) -> bool:
        """Return whether a word of praise stands without a negation before it."""
        negations, units = self.sentence.vocabulary.words("class:negation"), self.sentence.units
        return any(
            entry.key == "favouring" and negations.isdisjoint(units[max(0, m.start - 2) : m.start])
            for m in self.sentence.matches
            for entry in m.entries
        )

    def _fault_of_turn(self) -> str:
        """Return a fault where the words of the claim are put together to say another thing."""
        premise, sentence = self.premise, self.sentence
        if premise.relation in _FORBIDDEN and not premise.opposed and sentence.permits():
            return "allows what its claim forbids"
        if fault := next(filter(None, starmap(self._turned_within, sentence.parts())), ""):
            return fault
        for match in sentence.matches:
            if any(entry.key == "undivided" for entry in match.entries) and not any(
                p.start <= match.start and match.stop <= p.stop for p in self.pieces
            ):
                return "not accounted for: " + " ".join(sentence.units[match.start : match.stop])
        for piece, following in pairwise(self.pieces):
            if piece.stop == following.start and self._are_mixed(piece, following):
                return "puts the names of both ends together"
            spans = (piece.start, piece.stop), (following.start, following.stop)
            if piece.stop != following.start or piece.end or following.end or following.is_note:
                continue
            is_denying = sentence.has("class:denying", *spans[0])
            is_avoiding, goes_on = (sentence.has("class:avoiding", *span) for span in spans)
            if (is_denying and goes_on) or (
                (is_denying or is_avoiding) and sentence.has("class:negation", *spans[1])
            ):
                return "denies what it forbids"
        return self._effect_of_condition() if premise.relation in _CONDITIONS else ""

    def _are_mixed(self, piece: Piece, following: Piece) -> bool:
        """Return whether a word of a name of one end goes on to, or from, a name of the other."""
        neutral, units = self.sentence.vocabulary.words(ANY), self.sentence.units
        return any(
            one.part_of and other.end not in ("", one.part_of) and units[one.start] not in neutral
            for one, other in ((piece, following), (following, piece))
        )

    def _turned_within(self, start: int, stop: int) -> str:
        """Return a fault of a part between stops: what it forbids, or takes for shown."""
        premise, sentence = self.premise, self.sentence
        pieces = [p for p in self.pieces if start <= p.start < stop]
        is_forbidding = premise.relation in (_FORBIDDEN | _CONDITIONS) and not premise.opposed
        is_denied = (
            sentence.guards(start, stop)
            or sentence.mentions(GUARDING, start, stop)
            or any(p.is_cue and p.entry and p.entry.key in _DENYING for p in pieces)
        )
        if not is_denied:
            denies = premise.required_keys() & _DENYING or (is_forbidding and sentence.guards())
            if any(p.guarded for p in pieces) and not denies:
                return "leaves out what its note forbids"
            is_verdict = premise.grade == PURPORTED and sentence.mentions("verdict", start, stop)
            if is_verdict and not sentence.mentions("doubts", start, stop):
                return "takes what is claimed for shown"
        if is_forbidding:
            both = (sentence.has(f"class:{name}", start, stop) for name in ("nobody", "avoiding"))
            return "denies what it forbids" if all(both) else ""
        is_free = any(
            p.guarded if premise.relation == "interactsWith" else p.is_note for p in pieces
        ) and not {"subject", "object"} <= {p.end for p in pieces}
        is_forbidden = any(
            not is_free or sentence.has("class:allowing", max(0, p.start - 2), p.start)
            for p in pieces
            if p.entry and p.entry.key in (GUARDING, DUTY)
        )
        return "forbids what its note does not" if is_forbidden else ""

    def _effect_of_condition(self) -> str:
        """Return a fault where a sentence says that the thing causes what it is not for."""
        telling = [p for p in self.pieces if not p.entry or p.entry.key != ANY]
        for piece, following in pairwise(telling):
            between = self.sentence.units[piece.stop : following.start]
            if piece.is_note and following.end == "object" and STOPS.isdisjoint(between):
                words = self.sentence.units[piece.start : piece.stop]
                if Sentence.of(words, self.sentence.vocabulary).mentions("causing"):
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
        wording, units = wording_of(premise, self.sentence.vocabulary), self.sentence.units
        own = {end: getattr(premise, end) for end in ("object", "subject")}
        differing = [end for end in own if own[end] != getattr(self.premise, end)]
        spans = {
            (piece.start, piece.stop, piece.end)
            for start in range(len(units))
            for piece in wording.names_at(units, start)
        }
        return all(
            any((p.start, p.stop, end) in spans for p in self.pieces if p.end == end)
            for end in differing
        )


def _cover(sentence: Sentence, wording: Wording) -> tuple[list[Piece], list[str]]:
    """Return the fewest pieces that cover a sentence, and the units that nothing covers."""
    units, at = sentence.units, wording.pieces(sentence)
    # cost of what follows a place: units not covered, then the costs of its pieces
    best: list[tuple[int, int, int, int]] = [(0, 0, 0, 0)] * (len(units) + 1)
    pieces: list[Piece | None] = [None] * len(units)
    for start in range(len(units) - 1, -1, -1):
        lost, *rest = best[start + 1]
        if units[start] in STOPS:
            best[start] = best[start + 1]
            continue
        best[start] = (lost + 1, rest[0], rest[1], rest[2])
        for piece in sorted(at[start], key=lambda each: -each.stop):  # of equals the longest
            lost, *rest = best[piece.stop]
            names, count, cues = piece.cost
            cost = (lost, rest[0] + names, rest[1] + count, rest[2] + cues)
            if cost < best[start]:
                best[start], pieces[start] = cost, piece
    found_pieces, missing, place = list[Piece](), list[str](), 0
    while place < len(units):
        if (covering := pieces[place]) is not None:
            found_pieces.append(covering)
            place = covering.stop
            continue
        if units[place] not in STOPS:
            missing.append(units[place])
        place += 1
    return found_pieces, missing


def _fault_of_order(pieces: Sequence[Piece], premise: Premise) -> str:
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
        if piece.is_cue and (before, after) == (first, second):
            return ""
        turned |= (before, after) == (second, first)
    return "turns the relation of the claim around" if turned else ""
