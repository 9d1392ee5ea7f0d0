"""Links between the words of cases and the terms below them, after MLKG-RAG."""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TextIO

import numpy as np

from shiyi.errors import FormatError
from shiyi.linking.embedder import Embedder, Vectors
from shiyi.linking.normalise import fold
from shiyi.linking.words import phrases

CURATED = "semapv:ManualMappingCuration"
NEAREST = "semapv:SemanticSimilarityThresholdMatching"
SSSOM_COLUMNS = (
    "subject_id", "subject_label", "predicate_id", "object_id", "object_label",
    "mapping_justification", "similarity_score", "similarity_measure", "other",
)  # fmt: skip


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

    @property
    def distance(self) -> float:
        """Give 1 − cosine, in [0, 2]."""
        return 1 - self.similarity

    @property
    def predicate(self) -> str:
        """Give the SKOS relation: exact where a person said so, else close."""
        return "skos:exactMatch" if self.justification == CURATED else "skos:closeMatch"

    def sssom(self) -> tuple[str, ...]:
        """Give the cells of an SSSOM row, in the order of ``SSSOM_COLUMNS``."""
        return (
            self.case.iri, self.case.text, self.predicate, self.term.iri, self.term.text,
            self.justification, f"{self.similarity:.4f}", "cosine",
            f"threshold={self.threshold:.2f}|mutual={str(self.mutual).lower()}",
        )  # fmt: skip


@cache
def euphemisms() -> Mapping[str, Euphemism]:
    """Give the curated table, by folded expression.

    >>> euphemisms()["不更衣"].term
    '便秘'
    """
    rows = (Euphemism(*line.split("\t")) for line in phrases("euphemisms"))
    return {fold(each.expression): each for each in rows}


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
    Expressions in ``curated`` (default: :func:`euphemisms`) go to the term a person chose,
    whatever their distance.
    """
    if direction not in _DIRECTIONS:
        raise FormatError("direction of layer links", direction, sorted(_DIRECTIONS))
    if not cases or not terms:
        return ()
    cosines = (
        embedder.encode([each.text for each in cases])
        @ embedder.encode([each.text for each in terms]).T
    )
    pairs = _DIRECTIONS[direction](cosines, cases, terms)
    mutual = _mutual(cosines, cases, terms)
    table = euphemisms() if curated is None else curated
    chosen = _curated(cases, terms, table)
    found = [
        LayerLink(cases[case], terms[term], _cosine(cosines, case, term), threshold,
                  (cases[case].iri, terms[term].iri) in mutual, CURATED)
        for case, term in sorted(chosen.items())
    ]  # fmt: skip
    settled = {cases[case].iri for case in chosen}
    for case, term in sorted(pairs):
        similarity = _cosine(cosines, case, term)
        if cases[case].iri not in settled and 1 - similarity < threshold:
            both = (cases[case].iri, terms[term].iri) in mutual
            found.append(LayerLink(cases[case], terms[term], similarity, threshold, both))
    return tuple(found)


def write_sssom(links: Iterable[LayerLink], out: TextIO, prefixes: Mapping[str, str]) -> int:
    """Write the links as an SSSOM table with its prefix map; count them."""
    out.write("#curie_map:\n")
    out.writelines(f"#  {prefix}: {namespace}\n" for prefix, namespace in sorted(prefixes.items()))
    out.write("#license: https://creativecommons.org/licenses/by/4.0/\n")
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(SSSOM_COLUMNS)
    count = 0
    for count, link in enumerate(links, 1):  # noqa: B007
        writer.writerow(link.sssom())
    return count


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
    """Give for each IRI the place of its wording that has the nearest neighbour."""
    nearest, best = cosines.max(axis=1), dict[str, int]()
    for place, entry in enumerate(entries):
        if entry.iri not in best or nearest[place] > nearest[best[entry.iri]]:
            best[entry.iri] = place
    return list(best.values())


def _both(cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]) -> Pairs:
    mutual = _mutual(cosines, cases, terms)
    return {
        (case, term)
        for case, term in _from_cases(cosines, cases, terms)
        if (cases[case].iri, terms[term].iri) in mutual
    }


def _mutual(
    cosines: Vectors, cases: Sequence[LayerEntry], terms: Sequence[LayerEntry]
) -> set[tuple[str, str]]:
    def named(pairs: Pairs) -> set[tuple[str, str]]:
        return {(cases[case].iri, terms[term].iri) for case, term in pairs}

    return named(_from_cases(cosines, cases, terms)) & named(_from_terms(cosines, cases, terms))


_Chooser = Callable[[Vectors, Sequence[LayerEntry], Sequence[LayerEntry]], Pairs]
_DIRECTIONS: Mapping[str, _Chooser] = {
    "case_to_term": _from_cases,
    "term_to_case": _from_terms,
    "mutual": _both,
}


def _curated(
    cases: Sequence[LayerEntry], terms: Sequence[LayerEntry], table: Mapping[str, Euphemism]
) -> dict[int, int]:
    """Give the place of the term for each case wording that the table holds."""
    places: dict[str, int] = {}
    for place, term in enumerate(terms):
        places.setdefault(fold(term.text), place)
    found = {}
    for place, case in enumerate(cases):
        entry = table.get(fold(case.text))
        if entry is not None and fold(entry.term) in places:
            found[place] = places[fold(entry.term)]
    return found


def _cosine(cosines: Vectors, case: int, term: int) -> float:
    return float(np.clip(cosines[case, term], -1, 1))
