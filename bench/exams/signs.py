"""Signs shared by a case and a pattern."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shiyi.evaluation.scorers.graph import View
from shiyi.evaluation.scorers.scorer import CachingLinker

SHOWS = "hasManifestation"


@dataclass(slots=True)
class SignsScorer:
    """Adds the rarity of the signs that a case and a pattern share, over the root of all its signs'.

    Patterns described at length gain nothing by their length. Shiyi's; chosen on lists of signs made
    from the base itself, halved and mixed with others, not on a question file.
    """

    view: View
    linking: CachingLinker
    ranked: bool = True  # whether rarity and confidence count, or only how many signs are shared
    _shown: Mapping[str, Mapping[str, float]] | None = None
    _rarity: Mapping[str, float] = field(default_factory=dict)

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        """Return each option the best score of what it names."""
        signs = {iri for senses in self.linking.concepts(stem) for iri in senses[:2]}
        shown = self._known()
        return [
            max(
                (
                    self._score(shown[iri], signs)
                    for senses in self.linking.concepts(option)
                    for iri in senses
                    if iri in shown
                ),
                default=0.0,
            )
            for option in options
        ]

    def _score(self, shown: Mapping[str, float], signs: set[str]) -> float:
        shared = shown.keys() & signs
        if not self.ranked:
            return float(len(shared))
        total = sum(self._rarity[each] for each in shown)
        return sum(shown[each] * self._rarity[each] for each in shared) / math.sqrt(total)

    def _known(self) -> Mapping[str, Mapping[str, float]]:
        if self._shown is None:
            self._shown = {
                node: signs
                for node, links in self.view.links.items()
                if (
                    signs := {
                        e.other: e.confidence for e in links if e.forward and e.predicate == SHOWS
                    }
                )
            }
            often = Counter(sign for signs in self._shown.values() for sign in signs)
            n = len(self._shown)
            self._rarity = {sign: math.log(1 + n / times) for sign, times in often.items()}
        return self._shown
