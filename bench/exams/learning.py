"""Scorers learnt from training cases: composed names and stacked generalisation."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from shiyi.evaluation.items import Choice
from shiyi.evaluation.scorers.baselines import Floats
from shiyi.evaluation.scorers.scorer import Options, Scorer

Learning = Callable[[Sequence[Choice]], Scorer]
FOLDS = 5
PRIOR = 1.0  # strength of the pull of all weights towards 0
STEPS = 25


@dataclass(frozen=True, slots=True)
class StackedScorer:
    """Adds up scorers, each scaled so that its best option has 1, by weights learnt from cases.

    Stacked generalisation (Wolpert 1992) by a conditional logit over the options (McFadden 1974). What learns
    itself is scored on cases it has not seen, in five parts; questions on one case stay together.
    """

    parts: tuple[Scorer, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, cases: Sequence[Choice], parts: Sequence[Scorer], learning: Learning) -> Self:
        """Learn weights of ``parts`` and of what ``learning`` makes of cases; it comes last."""
        place = {stem: i for i, stem in enumerate(dict.fromkeys(case.stem for case in cases))}
        rows = list[tuple[Floats, Floats]]()
        for fold in range(FOLDS):
            within = [case for case in cases if place[case.stem] % FOLDS == fold]
            own = learning([case for case in cases if place[case.stem] % FOLDS != fold])
            rows += [(_shares((*parts, own), case), _wanted(case)) for case in within]
        return cls((*parts, learning(cases)), tuple(_fitted(rows)))

    def scores(self, stem: str, options: Options) -> list[float]:
        """Return each option how far it lies above the one that has least for it."""
        columns = [_scaled(part.scores(stem, options)) for part in self.parts]
        total = np.stack(columns, axis=1) @ np.array(self.weights)
        return [float(item) for item in total - total.min(initial=np.inf)]


def _shares(parts: Sequence[Scorer], case: Choice) -> Floats:
    return np.stack([_scaled(part.scores(case.stem, case.texts)) for part in parts], axis=1)


def _scaled(scores: Sequence[float]) -> Floats:
    found = np.array(scores, dtype=np.float64)
    top = found.max(initial=0.0)
    return found / top if top > 0 else found


def _wanted(case: Choice) -> Floats:
    right = np.array([letter in case.gold for letter in case.letters], dtype=np.float64)
    wanted: Floats = right / right.sum()
    return wanted


def _fitted(rows: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Find the likeliest weights by Newton's method; the penalised likelihood has one maximum."""
    weights = np.zeros(rows[0][0].shape[1])
    for _ in range(STEPS):
        slope, bend = -PRIOR * weights, PRIOR * np.eye(len(weights))
        for shares, wanted in rows:
            reached = shares @ weights
            chance = np.exp(reached - reached.max())
            chance /= chance.sum()
            slope = slope + shares.T @ (wanted - chance)
            off = shares - chance @ shares
            bend = bend + (off * chance[:, None]).T @ off
        weights = weights + np.linalg.solve(bend, slope)
    return weights


LONGEST = 3  # characters of a piece of a case
FREQUENT, OFTEN_MEANT = 2, 3  # cases and answers that a piece must occur in
RIDGE = 1.0  # by five-fold cross-validation on training alone, as all above


@dataclass(frozen=True, slots=True, eq=False)
class NameRegression:
    """Kernel ridge regression from the pieces of a case to the characters and pairs of its answers.

    肝 and 血虚 are learnt apart, so that a name that no training case bears is scored all the same.
    """

    words: dict[str, int]
    rarity: Floats
    meant: dict[str, int]
    rows: Floats  # cases by pieces, each of length 1
    weights: Floats  # cases by characters and pairs of answers
    spread: Floats  # how far each of those varies between cases

    @classmethod
    def of(cls, cases: Sequence[Choice]) -> Self:
        """Learn from cases with their right options."""
        counts = [Counter(_pieces(choice.stem, LONGEST)) for choice in cases]
        answers = [
            {
                p
                for letter, text in choice.options
                if letter in choice.gold
                for p in _pieces(text, 2)
            }
            for choice in cases
        ]
        count = _often(counts, FREQUENT)
        meant = _often(answers, OFTEN_MEANT)
        seen = np.array([sum(piece in each for each in counts) for piece in count])
        rarity = np.log((1 + len(cases)) / (1 + seen)) + 1
        rows = np.stack([_row(each, count, rarity) for each in counts])
        given = np.array([[piece in answer for piece in meant] for answer in answers], dtype=float)
        usual = given.mean(axis=0)
        weights = np.linalg.solve(rows @ rows.T + RIDGE * np.eye(len(rows)), given - usual)
        return cls(count, rarity, meant, rows, weights, np.sqrt(usual * (1 - usual) + 1e-3))

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        """Return each option how far its pieces are spoken for, above the option spoken for least."""
        row = _row(Counter(_pieces(stem, LONGEST)), self.words, self.rarity)
        expected = (self.rows @ row) @ self.weights / self.spread
        results = [self._mean(expected, option) for option in options]
        least = min(results, default=0.0)
        return [each - least for each in results]

    def _mean(self, expected: Floats, option: str) -> float:
        results = [self.meant[p] for p in {*_pieces(option, 2)} if p in self.meant]
        return float(expected[results].mean()) if results else 0.0


def _pieces(text: str, longest: int) -> list[str]:
    return [text[i : i + n] for n in range(1, longest + 1) for i in range(len(text) - n + 1)]


def _often(texts: Sequence[Iterable[str]], least: int) -> dict[str, int]:
    seen = Counter(piece for text in texts for piece in set(text))
    results = sorted(piece for piece, n in seen.items() if n >= least)
    return {piece: place for place, piece in enumerate(results)}


def _row(counts: Counter[str], values: dict[str, int], rarity: Floats) -> Floats:
    row = np.zeros(len(values))
    for piece, times in counts.items():
        if piece in values:
            row[values[piece]] = 1 + np.log(times)
    row *= rarity
    length = float(np.linalg.norm(row))
    return row / length if length else row
