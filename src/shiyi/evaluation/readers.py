"""Answers without a model: the option that the evidence joins best, or an abstention."""

from collections.abc import Mapping
from dataclasses import dataclass

from shiyi.answering.asked import asked_predicates, odd_one_out
from shiyi.evaluation.items import Choice, Prediction
from shiyi.evaluation.scorers import Index, Linking, Scorer
from shiyi.evaluation.view import BROADER, View

NEAR = 0.8  # ours: cosine from which a sentence says what a statement says


def read_choice(item: Choice, scorer: Scorer, answers: int = 1) -> Prediction:
    """Choose so many of the options; abstain where no option has a score.

    Where the odd one out is asked for, the order is turned round: it is the option that the
    evidence joins least.
    """
    scores = scorer.scores(item.stem, item.texts)
    held = [score for score in scores if score > 0]
    if not held:
        return Prediction(abstained=True)
    if odd_one_out(item.stem):
        top = max(scores)
        scores = [top - score + top * 1e-6 for score in scores]
    by_letter = dict(zip(item.letters, scores, strict=True))
    ranking = tuple(sorted(by_letter, key=lambda letter: (-by_letter[letter], letter)))
    chosen = frozenset(letter for letter in ranking[:answers] if by_letter[letter] > 0)
    return Prediction(ranking, chosen, scores=by_letter)


@dataclass(slots=True)
class StatementReader:
    """Holds a statement true where a claim says it; else it is not on record.

    "Not on record" counts as false in accuracy, as the paper counts it, and as an abstention.
    """

    view: View
    linking: Linking
    inherit: bool = True

    def read(self, item: Choice) -> Prediction:
        """Look for a claim of the asked relation between any two things the statement names."""
        wanted = asked_predicates(item.stem)
        named = self.linking.concepts(item.stem, wanted)
        for place, one in enumerate(named):
            for other in named[place + 1 :]:
                if any(self._joined(a, b, wanted) for a in one for b in other):
                    return Prediction(("true",), frozenset({"true"}))
        return Prediction(("false",), frozenset({"false"}), abstained=True)

    def _joined(self, one: str, other: str, wanted: frozenset[str]) -> bool:
        ends = {other, *(self._above(other) if self.inherit else ())}
        starts = {one, *(self._above(one) if self.inherit else ())}
        return self._claimed(one, ends, wanted) or self._claimed(other, starts, wanted)

    def _claimed(self, node: str, ends: set[str], wanted: frozenset[str]) -> bool:
        return any(
            link.other in ends and link.claim and (not wanted or link.predicate in wanted)
            for link in self.view.links.get(node, ())
        )

    def _above(self, node: str) -> list[str]:
        links = self.view.links.get(node, ())
        return [link.other for link in links if link.predicate == BROADER and link.forward]


@dataclass(slots=True)
class StatementByText:
    """Holds a statement true where one sentence of the base repeats enough of its words."""

    index: Index
    share: float = 0.6  # ours: of the score that the statement has against itself

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
        """Say true or false, each as likely."""
        (drawn,) = self.scorer.scores(item.stem, [""])
        said = "true" if drawn > 0.5 else "false"
        return Prediction((said,), frozenset({said}))


@dataclass(slots=True)
class OpenReader:
    """Names concepts of one kind without being given options."""

    scorer: Scorer
    names: Mapping[str, str]  # IRI to the name that is scored

    def read(self, item: Choice) -> Prediction:
        """Rank the concepts; abstain where none has a score."""
        iris = list(self.names)
        scores = self.scorer.scores(item.stem, [self.names[iri] for iri in iris])
        found = {iri: score for iri, score in zip(iris, scores, strict=True) if score > 0}
        ranking = tuple(sorted(found, key=lambda iri: (-found[iri], iri)))
        return Prediction(ranking, frozenset(ranking[:1]), abstained=not ranking)
