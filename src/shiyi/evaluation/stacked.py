"""How far each kind of evidence is to be believed, learnt from training questions for one run alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shiyi.evaluation.items import Choice
from shiyi.evaluation.scorers import Options, Scorer

Floats = NDArray[np.float64]
Learning = Callable[[Sequence[Choice]], Scorer]
FOLDS = 5
PRIOR = 1.0  # ours: strength of the pull of all weights towards 0
STEPS = 25


@dataclass(frozen=True, slots=True)
class Stacked:
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
        """Give each option how far it lies above the one that has least for it."""
        columns = [_scaled(part.scores(stem, options)) for part in self.parts]
        total = np.stack(columns, axis=1) @ np.array(self.weights)
        return [float(each) for each in total - total.min(initial=np.inf)]


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
