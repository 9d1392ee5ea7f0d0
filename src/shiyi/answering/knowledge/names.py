"""Every name of a concept: its labels, and parts of them that name nothing else."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import combinations
from typing import Final

from shiyi.linking.normalization import fold, has_cjk
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, text
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import SKOS
from shiyi.sparql.store.port import QuadStore

_CACHED: Final = 4096  # concepts
_NAMING: Final = (SKOS.prefLabel, SKOS.altLabel)
_FEWEST, _MOST = 3, 7  # words of a label that is abbreviated
_SHORTEST, _LONGEST = 4, 16  # characters of a Chinese label that is abbreviated
_RUN: Final = 3  # characters that stand in a Chinese abbreviation at least


@cache
def _words_of(key: str) -> frozenset[str]:
    """Return the words of a key of ``ontology/lexicon/grounding.tsv``."""
    results = (f"{zh}|{en}" for each, _, _, zh, en in rows("grounding") if each == key)
    return frozenset(word for cell in results for word in cell.split("|") if word)


class Names:
    """Reads the names of concepts from a store; safe to share between threads.

    Names are cached, so make another one after the names of concepts have changed.
    """

    def __init__(self, store: QuadStore) -> None:
        self._store = store
        self.of = lru_cache(_CACHED)(self._of)

    def _of(self, iri: str) -> frozenset[str]:
        """Return the labels of a concept in both languages, with abbreviations."""
        labels = tuple(self._labels(iri))
        short = (part for label in labels for part in abbreviations(label))
        cores = (
            core
            for label in labels
            if self._owners.get(f"={(core := _core(label))}", {iri}) == {iri}
            or label == f"{core} supplement"
        )
        return frozenset((*labels, *cores, *(part for part in short if self._is_own(part, iri))))

    def _labels(self, iri: str) -> Iterator[str]:
        for naming in _NAMING:
            for quad in self._store.match(NamedNode(iri), naming, None, DefaultGraph()):
                if isinstance(quad.object, Literal):
                    yield quad.object.value

    def _is_own(self, part: str, iri: str) -> bool:
        owners = [self._owners.get(key, frozenset()) for key in _keys(part)]
        return bool(owners) and frozenset.intersection(*owners) <= {iri}

    @cached_property
    def _owners(self) -> dict[str, frozenset[str]]:
        """Return the concepts that have a label, or a word or a run of characters of one."""
        results: dict[str, set[str]] = defaultdict(set)
        for naming in _NAMING:
            for quad in self._store.match(None, naming, None, DefaultGraph()):
                if isinstance(quad.object, Literal):
                    words = " ".join(_words(quad.object.value))
                    for key in (f"={words}", *_keys(quad.object.value)):
                        results[key].add(text(quad.subject))
        return {key: frozenset(group) for key, group in results.items()}


def abbreviations(label: str) -> Iterable[str]:
    """Yield parts of a label that may stand for it where nothing else has them.

    A part has all words that turn the meaning of the label, such as low and before.

    >>> sorted(abbreviations("ginger and scallion soup"))
    ['ginger scallion', 'ginger soup', 'scallion soup']
    """
    if has_cjk(label):
        size, turning = len(label), _words_of("class:turning").intersection(label)
        if not _SHORTEST <= size <= _LONGEST:
            return
        for width in range(max(_RUN, (size + 1) // 2), size):
            runs = (label[at : at + width] for at in range(size - width + 1))
            yield from (run for run in runs if turning.issubset(run))
        return
    words = [word for word in _words(label) if word not in _words_of("class:small")]
    turning = _words_of("class:turning").intersection(words)
    if len(words) > 1 and len(words[-1]) > _SHORTEST and turning.issubset(words[-1:]):
        yield words[-1]
    if not _FEWEST <= len(words) <= _MOST:
        return
    for count in range(max(2, (len(words) + 1) // 2), len(words)):
        for combination in combinations(words, count):
            if turning.issubset(combination) and max(map(len, combination)) > _SHORTEST:
                yield " ".join(combination)


def _core(label: str) -> str:
    """Return the words of a label without those of form at its end, at least one.

    >>> _core("bletilla tuber")
    'bletilla'
    """
    words = _words(label)
    while len(words) > 1 and words[-1] in _words_of("class:form"):
        words.pop()
    return " ".join(words)


def _words(label: str) -> list[str]:
    return re.findall(r"[^\W_]+", fold(label).replace("'s", ""))


def _keys(label: str) -> Iterator[str]:
    """Yield what a label is found by: runs of Chinese characters, or words."""
    if has_cjk(label):
        yield from (label[at : at + _RUN] for at in range(len(label) - _RUN + 1))
    else:
        yield from (word for word in _words(label) if word not in _words_of("class:small"))
