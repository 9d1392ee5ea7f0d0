"""Decide whether a sentence says no more than the claims it cites.

Default deny: every word of a sentence has to be accounted for. It is a name of an end of a claim, a
word of the claim's notes, a word by which the claim's relation, rating or severity may be stated
(``ontology/lexicon/grounding.tsv``), or a word that states nothing. Both ends and the relation
must be named, and where a verb stands between the ends, in the order that the claim states.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final, Self

from shiyi.answering.generation.vocabulary import ANY, Entry, Units, Vocabulary, units_of
from shiyi.linking.normalization import fold

STOPS: Final = frozenset(",.;:!?，。；：！？、…")
_NOTE_ENDS: Final = frozenset(".;:，。；：")  # 、 and the English comma part what is listed
_CLAUSE_ENDS: Final = frozenset({",", ".", ";", "，", "。", "；", "and", "but", "while", "而"})
_NEGATIONS: Final = frozenset({
    "no", "not", "never", "without", "none", "nor", "cannot",
    "不", "无", "未", "没", "非", "勿", "免",
})  # fmt: skip
# what a note forbids or denies is repeated with a word that does so
_GUARDS: Final = _NEGATIONS | frozenset({
    "禁", "忌", "避", "慎", "别", "少", "限", "戒", "莫", "avoid", "forbid", "forbidden", "limit",
    "caution", "care", "unless", "only", "neither", "don't", "doesn't", "didn't", "isn't", "aren't",
    "won't", "shouldn't", "can't", "contraind", "restrict", "skip", "stop", "lack", "kept", "keep",
})  # fmt: skip
_AVOIDING: Final = frozenset({
    "忌", "避", "禁", "慎", "戒", "怕", "担", "avoid", "skip", "limit", "forbid", "care", "caution",
    "worri", "fear", "mind", "restrict", "bother",
})  # fmt: skip
_DENYING: Final = _NEGATIONS | frozenset({
    "别", "莫", "don't", "doesn't", "isn't", "aren't", "won't", "shouldn't", "needn't", "hardli",
})  # fmt: skip
# words that may stand within a name: 痰少还黏, spleen and stomach are weak
_GLUE: Final = frozenset({
    "the", "a", "an", "of", "with", "and", "in", "is", "are", "your", "by", "的", "又", "还", "有",
})  # fmt: skip
_ALONE: Final = _NEGATIONS | {"up", "down", "off", "out", "more", "less"}
_CJK: Final = re.compile(r"[\u3400-\u9fff]")
_REVERSED: Final = re.compile(r"^(?:the drug|the medicine|drugs?) |^药物(?!浓度)", re.IGNORECASE)
_UNSUITED: Final = re.compile(
    r"不宜|避免|\b(?:avoid|not (?:with|for|in)|unsuitable)\b", re.IGNORECASE
)
_SAFETY: Final = frozenset({
    "interactsWith", "contraindicatedIn", "cautionIn", "unsuitableFood", "incompatibleWith",
    "opposes", "fears", "hasAdverseReaction", "hasToxicity", "confusedWith",
})  # fmt: skip
_PURPORTED: Final = "purported use"
_SYMMETRIC: Final = frozenset({"incompatibleWith", "opposes", "confusedWith"})
# relations that a sentence states by naming both ends: 枸杞子甘, 白果止带缩尿
_PROPERTIES: Final = frozenset({
    "hasNature", "hasFlavour", "hasMeridianTropism", "hasToxicity", "hasEfficacy",
})  # fmt: skip
# relations that a harm told by their notes states: it raises bleeding
_IMPLIED: Final = frozenset({"interactsWith", "cautionIn", "hasAdverseReaction", "hasToxicity"})
_FORBIDDEN: Final = frozenset({
    "contraindicatedIn", "incompatibleWith", "opposes", "fears", "unsuitableFood",
})  # fmt: skip
_PERMITTING: Final = frozenset(
    {"能", "可", "以", "常", "可以", "can", "may", "must", "should", "to", "so"}
)
_USING: Final = frozenset({
    "吃", "喝", "用", "服", "饮", "食", "拿", "同", "take", "eat", "use", "drink", "have", "combin",
})  # fmt: skip
_REFUSING: Final = _NEGATIONS | frozenset({"neither", "别", "莫", "岂", "forbidden", "unsaf"})
_CONDITIONS: Final = frozenset({"cautionIn", "contraindicatedIn"})
_USES: Final = frozenset({"relieves", "indicatedFor", "directedAt", "isEffectiveFor"})
_LEXICONS_CACHED: Final = 512  # premises


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

    def keys(self) -> frozenset[str]:
        """Return the keys of the words by which the claim may be stated."""
        keys = {f"source:{each}" for each in re.split(r"[\s|,]+", self.source) if each}
        if self.opposed:
            return frozenset({*keys, self._contrary(), f"{self.relation}:topic"})
        if self.polarity == "negative":
            return frozenset({*keys, "denied"})
        keys.add(self.relation)
        if self.severity:
            keys.add(self.severity)
        if self.grade == _PURPORTED:
            keys -= {self.relation}
            keys.add("purported")
        elif self.rating in ("insufficient", "ineffective"):
            keys -= {self.relation}
        if self.rating:
            keys |= {f"rating:{self.rating}", self.rating}
        if re.search(r"忌|禁|不宜|不得|避免|勿|forbid|avoid|contraindicat", self.grade):
            keys.add("avoided")
        if self.relation == "cautionIn" and any(map(_UNSUITED.search, self.notes)):
            keys.add("avoid")
        return frozenset(keys)

    def _contrary(self) -> str:
        if self.polarity == "negative" or self.relation not in _SAFETY:
            doubtful = self.rating in ("insufficient", "ineffective") or self.grade == _PURPORTED
            return "opposed:doubt" if doubtful else "opposed:benefit"
        return "opposed:harm"

    def required(self) -> frozenset[str]:
        """Return the keys of which one has to be stated by a cue."""
        if self.opposed:
            return frozenset({self._contrary()})
        if self.polarity == "negative":
            return frozenset({"denied"})
        if self.grade == _PURPORTED:
            return frozenset({"purported"})
        if self.rating in ("insufficient", "ineffective", "possible"):
            return frozenset({f"rating:{self.rating}"})
        return self.keys()


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a sentence that is accounted for; ``end`` of a name: ``subject`` or ``object``."""

    start: int
    stop: int
    end: str = ""
    entry: Entry | None = None
    note: bool = False
    guarded: bool = False  # of a part of a note that forbids or denies

    @property
    def weight(self) -> int:
        """Return 2 for a name of an end, 1 for a cue, 0 for other words."""
        return 2 if self.end else int(self.entry is not None and self.entry.cue)


def unverified(text: str, premises: Sequence[Premise], vocabulary: Vocabulary | None = None) -> str:
    """Return why a sentence is not verified by the claims it cites; empty where it is.

    A sentence over several claims is cut into clauses; each has to be verified by one of the
    claims, or by several that share an end and the relation, and each claim has to be stated.

    >>> goji = Premise(frozenset({"枸杞子"}), "hasNature", frozenset({"平"}))
    >>> unverified("枸杞子性平。", [goji])
    ''
    >>> unverified("枸杞子性温。", [goji])
    'not accounted for: 温'
    """
    vocabulary = vocabulary or Vocabulary.load()
    if not premises:
        return "cites no claim"
    units = units_of(fold(text))
    if len(premises) == 1:
        return _Reading.of(units, premises[0], vocabulary).fault
    stated, fault = _stated(units, premises, vocabulary)
    return fault or ("" if len(stated) == len(premises) else "does not state every claim it cites")


def supporting(
    text: str, premises: Sequence[Premise], vocabulary: Vocabulary | None = None
) -> tuple[int, ...]:
    """Return the places of the claims that verify a sentence; empty where they do not.

    One claim that verifies the whole sentence goes before several that verify its clauses.

    >>> goji = frozenset({"枸杞子"})
    >>> flavour = Premise(goji, "hasFlavour", frozenset({"甘"}))
    >>> nature = Premise(goji, "hasNature", frozenset({"平"}))
    >>> supporting("枸杞子味甘，性平。", [nature, flavour]), supporting("枸杞子味苦。", [flavour])
    ((0, 1), ())
    """
    vocabulary = vocabulary or Vocabulary.load()
    units = units_of(fold(text))
    whole = [
        place
        for place, premise in enumerate(premises)
        if not _Reading.of(units, premise, vocabulary).fault
    ]
    if whole or len(premises) < 2:
        return tuple(whole)
    stated, fault = _stated(units, premises, vocabulary)
    return () if fault else tuple(sorted(stated))


def _stated(
    units: Units, premises: Sequence[Premise], vocabulary: Vocabulary
) -> tuple[set[int], str]:
    """Return the claims that a sentence states, whole or by clauses, or why it is not verified."""
    stated, fault = _by_clauses([units], premises, vocabulary)
    if not fault:
        return stated, ""
    clauses: list[list[str]] = [[]]
    for unit in units:
        if unit in _CLAUSE_ENDS:
            clauses.append([])
        else:
            clauses[-1].append(unit)
    return _by_clauses([tuple(each) for each in clauses if each], premises, vocabulary)


def _by_clauses(
    clauses: Sequence[Units], premises: Sequence[Premise], vocabulary: Vocabulary
) -> tuple[set[int], str]:
    """Return the claims that clauses state, or why one of them is not verified.

    A clause that names no subject goes on about that of the clause before it; one that names no
    end at all introduces the others.
    """
    groups = tuple(_groups(premises))
    stated: set[int] = set()
    subject: frozenset[str] = frozenset()
    for clause in clauses:
        readings = [
            (_Reading.of(clause, joined, vocabulary, subject == joined.subject), places)
            for joined, places in groups
        ]
        if any(reading.is_introduction for reading, _ in readings):
            continue
        verified = [(reading, places) for reading, places in readings if not reading.fault]
        if not verified:
            return set(), min((reading.fault for reading, _ in readings), key=len)
        reading, places = verified[0]
        subject = reading.premise.subject
        stated.update(p for p in places if reading.names(premises[p], vocabulary))
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
    units: Units
    pieces: tuple["_Piece", ...] = ()
    fault: str = ""

    @classmethod
    def of(
        cls, units: Units, premise: Premise, vocabulary: Vocabulary, is_carried: bool = False
    ) -> Self:
        """Read ``units``; without a subject, that of the clause before is taken."""
        pieces, missing = _cover(units, _lexicon(premise, vocabulary))
        made = cls(premise, units, tuple(pieces))
        if missing:
            return replace(made, fault="not accounted for: " + " ".join(missing))
        named = {piece.end for piece in pieces} | ({"subject"} if is_carried else set())
        if not {"subject", "object"} <= named:
            return replace(made, fault="does not name both ends of the claim")
        stated = {p.entry.key for p in pieces if p.entry and p.entry.cue}
        prohibited = _prohibited(premise, vocabulary)
        is_noted = premise.relation in _IMPLIED and premise.is_safety and not prohibited
        is_implied = premise.polarity == "positive" and (
            premise.relation in _PROPERTIES
            or (
                (is_noted or premise.relation == "hasIngredient")
                and any(piece.note for piece in pieces)
                and not (premise.relation == "cautionIn" and _permits(units))
            )
        )
        required = prohibited or premise.required()
        if not stated & required and (premise.opposed or not is_implied):
            return replace(made, fault="does not state the relation of the claim")
        return replace(made, fault=made._turned(vocabulary) or _misordered(pieces, premise))

    def _turned(self, vocabulary: Vocabulary) -> str:
        """Return a fault where the words of the claim are put together to say another thing."""
        if (
            self.premise.relation in _FORBIDDEN
            and not self.premise.opposed
            and _permits(self.units)
        ):
            return "allows what its claim forbids"
        if any(p.guarded for p in self.pieces) and not _GUARDS.intersection(self.units):
            return "leaves out what its note forbids"
        for piece, following in pairwise(self.pieces):
            denies = _DENYING.intersection(self.units[piece.start : piece.stop])
            avoids = _AVOIDING.intersection(self.units[following.start : following.stop])
            if denies and avoids and piece.stop == following.start and not following.end:
                return "denies what it forbids"
        if self.premise.relation in _CONDITIONS:
            telling = [
                p for p in self.pieces if p.end or p.note or not p.entry or p.entry.key != ANY
            ]
            for piece, following in pairwise(telling):
                words = self.units[piece.start : piece.stop]
                if (
                    piece.note
                    and following.end == "object"
                    and vocabulary.mentions(words, "causing")
                ):
                    return "makes the condition an effect"
        return ""

    @property
    def is_introduction(self) -> bool:
        """Return whether all words are accounted for and none names an end."""
        covered = sum(p.stop - p.start for p in self.pieces)
        return (
            covered == sum(u not in STOPS for u in self.units)
            and not any(piece.end for piece in self.pieces)
            and not _DENYING.intersection(self.units)
            and not _permits(self.units)
        )

    def names(self, premise: Premise, vocabulary: Vocabulary) -> bool:
        """Return whether a claim that was joined with others has its object or subject named."""
        ends = {"object": premise.object, "subject": premise.subject}
        differing = [end for end in ends if ends[end] != getattr(self.premise, end)]
        return all(
            {self.units[p.start : p.stop] for p in self.pieces if p.end == end}
            & {
                variant
                for name in ends[end]
                for variant in vocabulary.names(units_of(fold(name)), is_use=_is_use(premise))
            }
            for end in differing
        )


def _permits(units: Units) -> bool:
    """Return whether a sentence says that something may be taken."""
    units = tuple(unit for unit in units if unit != "be")
    return any(
        second in _USING
        and first in _PERMITTING
        and not _REFUSING.intersection(units[max(0, at - 1) : at + 1])
        and not (first.isascii() and _REFUSING.intersection(units))
        for at, (first, second) in enumerate(pairwise(units))
    )


def _is_use(premise: Premise) -> bool:
    """Return whether a claim is about what something is used for."""
    return premise.relation in _USES


def _prohibited(premise: Premise, vocabulary: Vocabulary) -> frozenset[str]:
    """Return ``avoided`` where a note of an interaction forbids what a milder word would allow."""
    if premise.relation != "interactsWith" or premise.opposed:
        return frozenset()
    forbids = any(
        vocabulary.mentions(units_of(fold(note)), "prohibition") for note in premise.notes
    )
    return frozenset({"avoided"}) if forbids else frozenset()


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """Every phrase that may stand in a sentence over a claim.

    ``cores`` holds names without the words that may stand between their parts, by first unit.
    """

    phrases: dict[Units, _Piece]
    cores: dict[str, dict[Units, _Piece]]


@lru_cache(_LEXICONS_CACHED)
def _lexicon(premise: Premise, vocabulary: Vocabulary) -> _Lexicon:
    """Return the phrases that may stand in a sentence over the claim; names outrank words."""
    known = _words(premise, vocabulary)
    cores: dict[str, dict[Units, _Piece]] = {}
    for end, names in (("object", premise.object), ("subject", premise.subject)):
        for name in names:
            for variant in vocabulary.names(units_of(fold(name)), is_use=_is_use(premise)):
                if variant and not set(variant) <= _NEGATIONS:
                    known[variant] = _Piece(0, 0, end=end)
                    core = tuple(unit for unit in variant if unit not in _GLUE)
                    if len(core) > 1:
                        cores.setdefault(core[0], {})[core] = _Piece(0, 0, end=end)
    return _Lexicon(known, cores)


def _words(premise: Premise, vocabulary: Vocabulary) -> dict[Units, _Piece]:
    """Return the words of the table and of the notes that may stand in a sentence."""
    known: dict[Units, _Piece] = {}
    order = ""
    if premise.relation == "interactsWith":  # what a note says of one end it does to the other
        is_reversed = any(_is_reversed(note, premise) for note in premise.notes)
        order = "object-first" if is_reversed else "subject-first"
    for phrase, entry in vocabulary.phrases(
        sorted(premise.keys() | _prohibited(premise, vocabulary))
    ):
        other = known.get(phrase)
        if other is None or (entry.cue and not (other.entry and other.entry.cue)):
            entry = replace(entry, order=order) if entry.order and order else entry
            known[phrase] = _Piece(0, 0, entry=entry)
    clauses = [clause for note in premise.notes for clause in _clauses(units_of(fold(note)))]
    for clause in sorted(clauses, key=_is_guarded):  # what is not guarded first
        entry = Entry("note", order=order)
        piece = _Piece(0, 0, entry=entry, note=True, guarded=_is_guarded(clause))
        for phrase in (*_parts(clause), *vocabulary.alike(clause, _NEGATIONS)):
            known.setdefault(phrase, piece)
    return known


def _is_reversed(note: str, premise: Premise) -> bool:
    """Return whether a note tells what the object of a claim does."""
    units = units_of(fold(note))
    return bool(_REVERSED.search(note)) or any(
        units[: len(name)] == name for name in map(units_of, map(fold, premise.object))
    )


def _clauses(note: Units) -> Iterable[Units]:
    """Yield the clauses of a note."""
    clause: list[str] = []
    for unit in note:
        if unit in _NOTE_ENDS:
            yield tuple(clause)
            clause = []
        else:
            clause.append(unit)
    yield tuple(clause)


def _is_guarded(clause: Units) -> bool:
    return bool(_GUARDS.intersection(clause))


def _parts(units: Units) -> Iterable[Units]:
    """Yield the parts of a note that a sentence may repeat.

    A single Chinese character, a negation or a word such as up states nothing by itself, so they
    only come with what stands beside them in the note; so does what is denied with its denial.
    """
    for start in range(len(units)):
        if start and units[start - 1] in _NEGATIONS:
            continue
        for stop in range(start + 1, min(start + 12, len(units)) + 1):
            part = units[start:stop]
            if part[-1] in STOPS:
                break
            if len(part) > 1 or not (_CJK.match(part[0]) or part[0] in _ALONE):
                yield part


def _core_width(units: Units, start: int, core: Units) -> int:
    """Return how many units a name takes up from a place, with words between its parts; or 0."""
    at = start
    for wanted in core:
        while at < len(units) and units[at] != wanted and units[at] in _GLUE:
            at += 1
        if at == len(units) or units[at] != wanted:
            return 0
        at += 1
    return at - start


def _cover(units: Units, lexicon: _Lexicon) -> tuple[list[_Piece], list[str]]:
    """Return the fewest pieces that cover a sentence, and the units that nothing covers."""
    known = lexicon.phrases
    widest = max(map(len, known), default=1)
    # cost of what follows a place: units not covered, less ends and cues, pieces
    best: list[tuple[int, int, int]] = [(0, 0, 0)] * (len(units) + 1)
    chosen: list[_Piece | None] = [None] * len(units)
    for start in range(len(units) - 1, -1, -1):
        if units[start] in STOPS:
            best[start] = best[start + 1]
            continue
        lost, states, pieces = best[start + 1]
        best[start] = (lost + 1, states, pieces)
        whole = (
            (width, known.get(units[start : start + width]))
            for width in range(min(widest, len(units) - start), 0, -1)
        )
        parted = (
            (_core_width(units, start, core), piece)
            for core, piece in lexicon.cores.get(units[start], {}).items()
        )
        for width, piece in (*whole, *parted):
            if piece is None or not width:
                continue
            lost, states, pieces = best[start + width]
            cost = (lost, states - piece.weight, pieces + 1)
            if cost < best[start]:
                best[start] = cost
                chosen[start] = replace(piece, start=start, stop=start + width)
    result, missing, at = [], [], 0
    while at < len(units):
        piece = chosen[at]
        if piece is not None:
            result.append(piece)
            at = piece.stop
            continue
        if units[at] not in STOPS:
            missing.append(units[at])
        at += 1
    return result, missing


def _misordered(pieces: Sequence[_Piece], premise: Premise) -> str:
    """Return a fault where a verb stands between the ends of a claim the wrong way round."""
    if premise.relation in _SYMMETRIC:
        return ""
    for at, piece in enumerate(pieces):
        if piece.entry is None or not piece.entry.order:
            continue
        first, second = (
            ("subject", "object") if piece.entry.order == "subject-first" else ("object", "subject")
        )
        before = next((p.end for p in reversed(pieces[:at]) if p.end), "")
        after = next((p.end for p in pieces[at + 1 :] if p.end), "")
        if before == second and after == first:
            return "turns the relation of the claim around"
    return ""
