"""Answering methods as option scorers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.knowledge.facts import EDIBLE
from shiyi.answering.methods import RETRIEVE, Query
from shiyi.answering.methods.method import RRF, neighbours
from shiyi.answering.retrieval.paths import RankedFact, Retrieval
from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.conditions import find_predicates, is_negated
from shiyi.answering.understanding.reading import parse_question
from shiyi.evaluation.items import Choice, Prediction
from shiyi.evaluation.scorers.graph import BROADER, View
from shiyi.evaluation.scorers.scorer import CachingLinker, Index, Options, Scorer
from shiyi.linking.normalization import QuestionText, language_of
from shiyi.model.profile import Profile

READERS: Final = ("spot", "layers", "therapy", "chain", "transe", "rotate")
_TOGETHER: Final = 10  # options that stand in one question; more are asked for one by one
_APART: Final = 0.1  # Shiyi's: what a claim weighs that speaks of the option alone


@dataclass(slots=True)
class MethodReader:
    """A method over one base; ``seen`` are the claims a run may see, all of them where empty."""

    method: str
    runtime: Runtime
    linking: CachingLinker
    k: int = 10
    seen: frozenset[str] = frozenset()
    ranked: bool = True  # whether the rank of a claim counts, or only that it was found
    _known: dict[str, Retrieval] = field(default_factory=dict)

    def claims(self, text: str) -> tuple[RankedFact, ...]:
        """Return the claims that the method retrieves for a text, best first."""
        retrieval = self._known.get(text)
        if retrieval is None:
            runtime, language = self.runtime, language_of(text)
            question = QuestionText.of(text, language)
            reading = parse_question(
                question, Profile(), runtime.linker, runtime.facts, runtime.settings.understanding
            )
            query = Query(reading, (), EDIBLE, advice=False, k=self.k, least=0.0)
            retrieval = self._known[text] = RETRIEVE[self.method](query, runtime, None)
        return tuple(f for f in retrieval.claims if not self.seen or f.fact.claim in self.seen)

    def concepts_in(self, text: str) -> frozenset[str]:
        """Return the concepts that a text names, and those above them."""
        return neighbours(
            self.runtime.facts, (iri for senses in self.linking.concepts(text) for iri in senses)
        )

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return for each option the reciprocal ranks of the claims that connect it to the stem.

        The stem stands in one question with its options (MLKG-RAG), unless there are very many.
        """
        together = len(options) <= _TOGETHER
        question = f"{stem} {' '.join(options)}" if together else stem
        facts, named = self.claims(question), self.concepts_in(stem)
        return [self._score(facts, named, option) for option in options]

    def _score(self, facts: Sequence[RankedFact], names: frozenset[str], option: str) -> float:
        own = {iri for senses in self.linking.concepts(option) for iri in senses}
        total = 0.0
        for rank, fact in enumerate(facts, 1):
            ends = {fact.fact.subject, fact.fact.object}
            if fact.fact.positive and ends & own:
                joins = bool((ends - own) & names) or len(ends & own) > 1
                total += (1.0 if joins else _APART) / (RRF + (rank if self.ranked else 1))
        return total


@dataclass(slots=True)
class StatementByRetrieval:
    """Judges a statement true where the method retrieves a claim that joins what it names."""

    reader_for: MethodReader

    def read(self, item: Choice) -> Prediction:
        """Look for such a claim, of the relation asked for where the statement names one."""
        named = [
            neighbours(self.reader_for.runtime.facts, senses)
            for senses in self.reader_for.linking.concepts(item.stem)
        ]
        for claim in self.reader_for.claims(item.stem):
            fact = claim.fact
            places = [
                {i for i, own in enumerate(named) if end in own}
                for end in (fact.subject, fact.object)
            ]
            if fact.positive and all(places) and len(places[0] | places[1]) > 1:
                return Prediction(("true",), frozenset({"true"}))
        return Prediction(("false",), frozenset({"false"}), abstained=True)


NEAR = 0.8  # Shiyi's: cosine from which a sentence says what a statement says


def read_choice(item: Choice, scorer: Scorer, answers: int = 1) -> Prediction:
    """Choose so many of the options; abstain where no option has a score.

    For the odd one out the order is reversed: the least connected option is first.
    """
    scores = scorer.scores(item.stem, item.texts)
    positive = [score for score in scores if score > 0]
    if not positive:
        return Prediction(abstained=True)
    if is_negated(item.stem):
        top = max(scores)
        scores = [top - score + top * 1e-6 for score in scores]
    by_letter = dict(zip(item.letters, scores, strict=True))
    ranking = tuple(sorted(by_letter, key=lambda letter: (-by_letter[letter], letter)))
    chosen = frozenset(letter for letter in ranking[:answers] if by_letter[letter] > 0)
    return Prediction(ranking, chosen, scores=by_letter)


@dataclass(slots=True)
class StatementReader:
    """Judges a statement true where a claim states it; else it is not on record.

    "Not on record" counts as false in accuracy, as the paper counts it, and as an abstention.
    """

    view: View
    linking: CachingLinker
    inherit: bool = True

    def read(self, item: Choice) -> Prediction:
        """Look for a claim of the asked relation between any two things the statement names."""
        predicates = find_predicates(item.stem)
        named = self.linking.concepts(item.stem, predicates)
        for place, one in enumerate(named):
            for other in named[place + 1 :]:
                if any(self._are_joined(a, b, predicates) for a in one for b in other):
                    return Prediction(("true",), frozenset({"true"}))
        return Prediction(("false",), frozenset({"false"}), abstained=True)

    def _are_joined(self, one: str, other: str, predicates: frozenset[str]) -> bool:
        ends = {other, *(self._ancestors(other) if self.inherit else ())}
        starts = {one, *(self._ancestors(one) if self.inherit else ())}
        return self._is_claimed(one, ends, predicates) or self._is_claimed(
            other, starts, predicates
        )

    def _is_claimed(self, node: str, ends: set[str], predicates: frozenset[str]) -> bool:
        return any(
            link.other in ends and link.claim and (not predicates or link.predicate in predicates)
            for link in self.view.links.get(node, ())
        )

    def _ancestors(self, node: str) -> list[str]:
        links = self.view.links.get(node, ())
        return [link.other for link in links if link.predicate == BROADER and link.forward]


@dataclass(slots=True)
class StatementByText:
    """Judges a statement true where one sentence of the base repeats enough of its words."""

    index: Index
    share: float = 0.6  # Shiyi's: of the score that the statement has against itself

    def read(self, item: Choice) -> Prediction:
        """Compare the best sentence with the statement itself."""
        best = self.index.top(item.stem, 1)
        whole = self.index.ceiling(item.stem)
        if best and whole and best[0][1] >= self.share * whole:
            return Prediction(("true",), frozenset({"true"}))
        return Prediction(("false",), frozenset({"false"}), abstained=True)


@dataclass(slots=True)
class StatementByChance:
    """Draws by chance."""

    scorer: Scorer

    def read(self, item: Choice) -> Prediction:
        """State true or false, each as likely."""
        (drawn,) = self.scorer.scores(item.stem, [""])
        answer = "true" if drawn > 0.5 else "false"
        return Prediction((answer,), frozenset({answer}))


@dataclass(slots=True)
class OpenReader:
    """Names concepts of one kind without being given options."""

    scorer: Scorer
    names: Mapping[str, str]  # IRI to the name that is scored

    def read(self, item: Choice) -> Prediction:
        """Rank the concepts; abstain where none has a score."""
        iris = list(self.names)
        scores = self.scorer.scores(item.stem, [self.names[iri] for iri in iris])
        results = {iri: score for iri, score in zip(iris, scores, strict=True) if score > 0}
        ranking = tuple(sorted(results, key=lambda iri: (-results[iri], iri)))
        return Prediction(ranking, frozenset(ranking[:1]), abstained=not ranking)
