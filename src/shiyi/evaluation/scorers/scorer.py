"""The scorer port and simple scorers."""

import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Protocol, Self

import numpy as np

from shiyi.answering.retrieval.bm25 import Scores
from shiyi.answering.retrieval.neighbourhood import Neighbourhood
from shiyi.answering.understanding.conditions import find_kinds, find_predicates, is_negated
from shiyi.errors import IndexMismatchError
from shiyi.evaluation.scorers.graph import BROADER, PathStrength, View
from shiyi.linking.embedding.embedder import Embedder, Vectors
from shiyi.linking.labels import LabelIndex
from shiyi.linking.linker import Linker
from shiyi.model.answer import Mention
from shiyi.ontology.schema import Schema

CLOSED: Final = frozenset({"Nature", "Flavour", "Meridian", "ToxicityLevel"})


@cache
def closed_kinds(predicates: frozenset[str]) -> frozenset[str]:
    """Return the closed vocabularies that some relations point into.

    >>> sorted(closed_kinds(frozenset({"hasMeridianTropism", "relieves"})))
    ['Meridian']
    """
    known = Schema.load().properties
    return frozenset(
        kind for name in predicates if name in known for kind in known[name].range & CLOSED
    )


@dataclass(frozen=True, slots=True)
class ValueFinder:
    """Finds liver, cold or sweet in a Chinese text, which the linker ignores as ambiguous."""

    meant: dict[str, dict[str, str]]  # kind, then name to IRI
    patterns: dict[str, re.Pattern[str]]

    @classmethod
    def of(cls, index: LabelIndex) -> Self:
        """Read the names of every closed vocabulary."""
        meant: dict[str, dict[str, str]] = defaultdict(dict)
        for label in index.labels:
            concept = index.concepts[label.concept]
            if concept.kind in CLOSED:
                meant[concept.kind][label.text.lower()] = concept.iri
        return cls(dict(meant), {kind: _longest_first(names) for kind, names in meant.items()})

    def find(
        self, text: str, kinds: Collection[str], longer: Collection[tuple[int, int]] = ()
    ) -> Iterator[tuple[int, int, str]]:
        """Yield place and concept of each name that no ``longer`` mention holds inside it."""
        low = text.lower()
        for kind in sorted(kinds & self.meant.keys()):
            for match in self.patterns[kind].finditer(low):
                start, end = match.span()
                if not any(a <= start and end <= b and b - a > end - start for a, b in longer):
                    yield start, end, self.meant[kind][match.group()]


def _longest_first(names: Collection[str]) -> re.Pattern[str]:
    ordered = sorted(names, key=lambda name: (-len(name), name))
    written = (rf"\b{re.escape(each)}\b" if each.isascii() else re.escape(each) for each in ordered)
    return re.compile("|".join(written))


Options = Sequence[str]
NONE_OF_THEM = frozenset(
    {"none of the above", "none of them", "none of these", "以上都不是", "以上均不是", "以上皆非"}
)


class Scorer(Protocol):
    """Scores the options of a question."""

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return the score of each option, 0 where nothing connects it to the stem."""


@dataclass(slots=True)
class CachingLinker:
    """Links texts and remembers them: options repeat."""

    linker: Linker
    _known: dict[str, tuple[Mention, ...]] = field(default_factory=dict)
    _closed: ValueFinder | None = None

    def concepts(
        self, text: str, classes: frozenset[str] = frozenset()
    ) -> tuple[tuple[str, ...], ...]:
        """Return, per mention that is not negated, what it may mean, likeliest first.

        Where the odd one out is asked for, the "not" belongs to the question, not to the mention.
        Where ``keys`` relations point into a closed vocabulary (channels), its names are read
        too, instead of the mentions of the linker.
        """
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self.linker.link(text)
        odd = is_negated(text)
        mentions = [each for each in known if each.iri and (odd or not each.negated)]
        kinds = closed_kinds(classes)
        if not kinds:
            return tuple((each.iri, *each.alternatives) for each in mentions)
        sure = [(each.start, each.end) for each in mentions if each.score == 1.0]
        named = self._find_names(text, kinds, sure)
        apart = [e for e in mentions if not any(a < e.end and e.start < b for a, b, _ in named)]
        return (*((e.iri, *e.alternatives) for e in apart), *((iri,) for _, _, iri in named))

    def _find_names(
        self, text: str, kinds: frozenset[str], longer: Sequence[tuple[int, int]]
    ) -> list[tuple[int, int, str]]:
        if self._closed is None:
            self._closed = ValueFinder.of(self.linker.index)
        return list(self._closed.find(text, kinds, longer))


@dataclass(slots=True)
class PathScorer:
    """Adds up the paths between what the stem names and what an option names."""

    joins: PathStrength
    linking: CachingLinker

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return for each option the mean path strength from the stem to the concepts it names."""
        predicates = find_predicates(stem)
        seeds = [iri for senses in self.linking.concepts(stem, predicates) for iri in senses[:2]]
        results = []
        for option in options:
            named = self.linking.concepts(option, predicates)
            group = [self._strength(seeds, senses, predicates) for senses in named]
            results.append(sum(group) / len(group) if group else 0.0)
        return results

    def _strength(
        self, seeds: Sequence[str], senses: Sequence[str], predicates: frozenset[str]
    ) -> float:
        best = 0.0
        for sense in senses:
            total = sum(self.joins.reach(seed, predicates).get(sense, 0.0) for seed in set(seeds))
            best = max(best, total)
        return best


@dataclass(slots=True)
class RelationScorer:
    """For questions of one relation: a claim of that relation, of the thing or its class."""

    view: View
    linking: CachingLinker

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return for each option the confidence of the answering claim, else 0."""
        predicates = find_predicates(stem)
        seeds = {iri for senses in self.linking.concepts(stem, predicates) for iri in senses}
        seeds |= {above for iri in seeds for above in self._ancestors(iri)}
        return [self._best(seeds, option, predicates) for option in options]

    def _best(self, seeds: set[str], option: str, predicates: frozenset[str]) -> float:
        named = {iri for senses in self.linking.concepts(option, predicates) for iri in senses}
        results = [
            link.confidence
            for iri in named
            for link in self.view.links.get(iri, ())
            if link.other in seeds
            and link.claim
            and (not predicates or link.predicate in predicates)
        ]
        return max(results, default=0.0)

    def _ancestors(self, iri: str) -> list[str]:
        links = self.view.links.get(iri, ())
        return [link.other for link in links if link.predicate == BROADER and link.forward]


@dataclass(slots=True)
class DirectClaimScorer:
    """Where "none of the above" is offered, a claim of the very relation answers, or nothing does.

    Such questions are made from one relation (iDISK2.0-RAG); the rest is left to other evidence.
    """

    relation: RelationScorer
    other: Scorer

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return what the claims say, or what the other scorer says."""
        offered = any(option.strip(" .。").lower() in NONE_OF_THEM for option in options)
        settled = offered and find_predicates(stem)
        return (self.relation if settled else self.other).scores(stem, options)


@dataclass(slots=True)
class NeighbourhoodScorer:
    """iDISK2.0-RAG: only one hop, gated and typed, ratings in the ranking."""

    neighbourhood: Neighbourhood
    linking: CachingLinker

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return for each option the weight of the claims between it and the stem."""
        seeds = self.neighbourhood.seeds(stem, find_kinds(stem))
        weights: dict[str, float] = {}
        for seed in dict.fromkeys(each.iri for each in seeds):
            for link, weight in self.neighbourhood.around(seed):
                weights[link.other] = weights.get(link.other, 0.0) + weight
        return [
            max(
                (weights.get(iri, 0.0) for senses in self.linking.concepts(each) for iri in senses),
                default=0.0,
            )
            for each in options
        ]


class Index(Protocol):
    """Sentences that a text is compared with."""

    def scores(self, text: str) -> Scores:
        """Return the score of every sentence, higher where it is more likely meant."""

    def top(self, text: str, count: int) -> list[tuple[int, float]]:
        """Return the places and scores of the best sentences, best first."""

    def ceiling(self, text: str) -> float:
        """Return the score that the text would have against itself."""


@dataclass(frozen=True, slots=True, eq=False)
class MeaningIndex:
    """Sentences as vectors, compared by cosine; what is below 0 counts for nothing."""

    embedder: Embedder
    rows: Vectors

    @classmethod
    def of(cls, linker: Linker, sentences: Sequence[str]) -> Self:
        """Embed the sentences; raise ``IndexMismatchError`` where the base has no embedder."""
        if linker.vectors is None:
            raise IndexMismatchError("the base has no vectors of labels: run `shiyi index`")
        embedder = linker.vectors.embedder
        return cls(embedder, embedder.encode(list(sentences)))

    def scores(self, text: str) -> Scores:
        """Return the cosine with every sentence."""
        cosines = self.rows @ self.embedder.encode([text])[0]
        found: Scores = np.maximum(cosines, 0.0).astype(np.float64)
        return found

    def top(self, text: str, count: int) -> list[tuple[int, float]]:
        """Return the nearest sentences."""
        found = self.scores(text)
        order = np.argsort(-found, kind="stable")[:count]
        return [(int(i), float(found[i])) for i in order if found[i] > 0]

    def ceiling(self, text: str) -> float:
        """Return 1, the cosine of a text with itself."""
        return 1.0


@dataclass(slots=True)
class TextScorer:
    """Finds one sentence that is like the stem and like the option."""

    index: Index

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return for each option the best sum over sentences that match both."""
        of_stem = self.index.scores(stem)
        return [self._best(of_stem, self.index.scores(option)) for option in options]

    @staticmethod
    def _best(of_stem: Scores, of_option: Scores) -> float:
        both = np.where((of_stem > 0) & (of_option > 0), of_stem + of_option, 0.0)
        return float(both.max()) if both.size else 0.0


@dataclass(slots=True)
class RandomScorer:
    """Draws by chance, the same for the same question and seed."""

    seed: int

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return a number in (0, 1] for each option."""
        draw = random.Random(f"{self.seed} {stem}")  # noqa: S311 - a draw, no secret
        return [1.0 - draw.random() for _ in options]


@dataclass(slots=True)
class FusedScorer:
    """Adds up methods, each scaled so that its best option has 1."""

    parts: Sequence[Scorer]

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return the sum of the scaled scores for each option."""
        total = [0.0] * len(options)
        for part in self.parts:
            scores = part.scores(stem, options)
            top = max(scores, default=0.0)
            if top > 0:
                total = [a + b / top for a, b in zip(total, scores, strict=True)]
        return total
