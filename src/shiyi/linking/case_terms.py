"""Links from words of cases to clinical terms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from shiyi.errors import FormatError
from shiyi.linking.disambiguation import read_lines
from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.linking.normalization import fold
from shiyi.ontology.lexicon import Cues, cues

CURATED = "semapv:ManualMappingCuration"
NEAREST = "semapv:SemanticSimilarityThresholdMatching"


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One wording of a case mention or of a term; several may share an IRI."""

    iri: str
    text: str


@dataclass(frozen=True, slots=True)
class Euphemism:
    """A classical, veiled or everyday expression, its modern term, register and source."""

    expression: str
    term: str
    register: str
    source: str


@dataclass(frozen=True, slots=True)
class LayerLink:
    """A case mention and the term it stands for; ``mutual``: each is nearest to the other."""

    case: LayerEntry
    term: LayerEntry
    similarity: float
    threshold: float
    mutual: bool
    justification: str = NEAREST


def find_class_codes(text: str) -> tuple[str, ...]:
    """Return the codes of GB/T 15657 classes that the words of a text name, best first.

    A class of more words goes before one of fewer, then the one named first; signs that go with
    many complaints (tiredness, sweat) come last. The words are
    ``ontology/lexicon/cues/disease-classes.tsv``.

    >>> find_class_codes("咳嗽三天，有痰")[0]
    'a04-04'
    """
    results: dict[str, tuple[bool, int, int]] = {}
    for code, pattern in cues("disease-classes").items():
        if matches := list(pattern.finditer(text.lower())):
            words = {match[0] for match in matches}
            name, _, sign = code.partition(" ")
            order = bool(sign), -len(words), matches[0].start()
            results[name] = min(order, results.get(name, order))
    return tuple(sorted(results, key=results.__getitem__))


_CUES: Final = Cues("cases")

_DIGITS: Final = {each: number for number, each in enumerate("〇一二三四五六七八九")} | {
    "零": 0,
    "两": 2,
}
_GROUPS: Final = ((1, "infant"), (13, "child"), (18, "adolescent"), (65, "adult"), (999, "elder"))


def age_group(text: str, stated: str = "") -> str:
    """Return infant, child, adolescent, adult or elder; nothing where no age is reported.

    >>> age_group("a 70-year-old woman"), age_group("boy with a cough"), age_group("fever")
    ('elder', 'child', '')
    """
    if stated.isdecimal():
        return _group(int(stated))
    for lines in (stated, text):
        if match := _CUES["years"].search(lines):
            number = next(group for group in match.groups() if group)
            return _group(int(number) if number.isdecimal() else _number(number))
        if _CUES["months"].search(lines[:20]):
            return "infant"
    return next((name for name in ("child", "elder") if _CUES[name].search(text)), "")


def patient_sex(text: str, stated: str = "") -> str:
    """Return female or male; nothing where neither is reported first.

    >>> patient_sex("A man of 60"), patient_sex("fever")
    ('male', '')
    """
    for lines in (stated, text[:120], text):
        female, male = _CUES["female"].search(lines), _CUES["male"].search(lines)
        if female and (not male or female.start() < male.start()):
            return "female"
        if male:
            return "male"
    return ""


def _group(years: int) -> str:
    return next(name for limit, name in _GROUPS if years < limit)


def _number(words: str) -> int:
    """Read a Chinese numeral below a hundred."""
    tens, ten, ones = words.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)


@cache
def euphemisms() -> Mapping[str, Euphemism]:
    """Return the curated table, by folded expression.

    >>> euphemisms()["不更衣"].term
    '便秘'
    """
    rows = (Euphemism(*line.split("\t")) for line in read_lines("euphemisms"))
    return {fold(euphemism.expression): euphemism for euphemism in rows}


def link_layers(
    cases: Sequence[LayerEntry],
    terms: Sequence[LayerEntry],
    embedder: Embedder,
    threshold: float,
    direction: str = "case_to_term",
    curated: Mapping[str, Euphemism] | None = None,
) -> tuple[LayerLink, ...]:
    """Link each case mention to its nearest term nearer than ``threshold`` (1 − cosine).

    ``term_to_case`` is the paper's direction, one case a term; ``mutual`` keeps what both give.
    Expressions in ``curated`` (default: :func:`euphemisms`) have a fixed term.
    """
    if direction not in _DIRECTIONS:
        raise FormatError("direction of layer links", direction, sorted(_DIRECTIONS))
    if not cases or not terms:
        return ()
    cosines = (
        embedder.encode([entry.text for entry in cases])
        @ embedder.encode([entry.text for entry in terms]).T
    )
    pairs = _DIRECTIONS[direction](cosines, cases, terms)
    mutual = _mutual(cosines, cases, terms)
    table = euphemisms() if curated is None else curated
    chosen = _match_curated(cases, terms, table)
    links = [
        LayerLink(
            cases[case],
            terms[term],
            _cosine(cosines, case, term),
            threshold,
            (cases[case].iri, terms[term].iri) in mutual,
            CURATED,
        )
        for case, term in sorted(chosen.items())
    ]
    settled = {cases[case].iri for case in chosen}
    for case, term in sorted(pairs):
        similarity = _cosine(cosines, case, term)
        if cases[case].iri not in settled and 1 - similarity < threshold:
            both = (cases[case].iri, terms[term].iri) in mutual
            links.append(LayerLink(cases[case], terms[term], similarity, threshold, both))
    return tuple(links)


Pairs = set[tuple[int, int]]


def _from_cases(
    cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]
) -> Pairs:
    """Pair every case mention, by its nearest wording, with the nearest term."""
    best = _nearest_by_iri(cosines, cases)
    return {(place, int(cosines[place].argmax())) for place in best}


def _from_terms(
    cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]
) -> Pairs:
    best = _nearest_by_iri(cosines.T, terms)
    return {(int(cosines[:, place].argmax()), place) for place in best}


def _nearest_by_iri(cosines: Vectors, entries: Sequence[LayerEntry]) -> list[int]:
    """Return for each IRI the place of its wording that has the nearest neighbour."""
    nearest, best = cosines.max(axis=1), dict[str, int]()
    for place, entry in enumerate(entries):
        if entry.iri not in best or nearest[place] > nearest[best[entry.iri]]:
            best[entry.iri] = place
    return list(best.values())


def _combine(cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]) -> Pairs:
    mutual = _mutual(cosines, cases, terms)
    return {
        (case, term)
        for case, term in _from_cases(cosines, cases, terms)
        if (cases[case].iri, terms[term].iri) in mutual
    }


def _mutual(
    cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]
) -> set[tuple[str, str]]:
    def iris(pairs: Pairs) -> set[tuple[str, str]]:
        return {(cases[case].iri, terms[term].iri) for case, term in pairs}

    return iris(_from_cases(cosines, cases, terms)) & iris(_from_terms(cosines, cases, terms))


_Chooser = Callable[[Vectors, Sequence[LayerEntry], Sequence[LayerEntry]], Pairs]
_DIRECTIONS: Mapping[str, _Chooser] = {
    "case_to_term": _from_cases, "term_to_case": _from_terms, "mutual": _combine,
}  # fmt: skip


def _match_curated(
    cases: Sequence[LayerEntry], terms: Sequence[LayerEntry], table: Mapping[str, Euphemism]
) -> dict[int, int]:
    """Return the place of the term for each case wording that the table holds."""
    places: dict[str, int] = {}
    for place, term in enumerate(terms):
        places.setdefault(fold(term.text), place)
    results = {}
    for place, case in enumerate(cases):
        entry = table.get(fold(case.text))
        if entry is not None and fold(entry.term) in places:
            results[place] = places[fold(entry.term)]
    return results


def _cosine(cosines: Vectors, case: int, term: int) -> float:
    return float(np.clip(cosines[case, term], -1, 1))
