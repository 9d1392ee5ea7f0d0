"""Exact names in running text: Aho-Corasick, leftmost-longest, whole words only."""

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

import ahocorasick_rs

from shiyi.linking.context import GENERIC, favoured, fits, needs_context, order
from shiyi.linking.labels import LabelIndex
from shiyi.linking.normalise import fold, is_cjk, is_latin
from shiyi.linking.surfaces import SPOKEN, at_boundary, surfaces
from shiyi.linking.words import phrases

# kinds whose pinyin is looked for in running text; that of others is tried on what is left
_TYPED = frozenset({"MFHSubstance", "Food", "Herb", "Dish", "Formula", "Syndrome"})


class Sense(NamedTuple):
    """One thing a written form may mean: how directly, the concept, and the label it is from."""

    rank: int
    concept: int
    label: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A span of a folded text and what it may mean, best sense first; none: no concept."""

    start: int
    end: int
    senses: tuple[Sense, ...]


class Dictionary:
    """Every written form of every label of an index."""

    def __init__(self, index: LabelIndex) -> None:
        self.index = index
        found: dict[str, dict[int, Sense]] = defaultdict(dict)
        for place, label in enumerate(index.labels):
            for form, rank in surfaces(label):
                if rank == SPOKEN and index.concepts[label.concept].kind not in _TYPED:
                    continue
                if form not in GENERIC and _is_a_name(form):
                    sense = Sense(rank, label.concept, place)
                    known = found[form].get(label.concept, sense)
                    found[form][label.concept] = min(sense, known)
        self.senses = {form: tuple(senses.values()) for form, senses in found.items()}
        for phrase in phrases("not-names"):
            self.senses.setdefault(fold(phrase), ())
        self._forms = list(self.senses)
        self._gated = [
            bool(self.senses[form]) and needs_context(form, self._kinds(form))
            for form in self._forms
        ]
        self._edged = [is_latin(form[0]) or is_latin(form[-1]) for form in self._forms]
        self._automaton = ahocorasick_rs.AhoCorasick(
            self._forms,
            matchkind=ahocorasick_rs.MatchKind.Standard,  # the only kind with overlaps
            store_patterns=False,
            implementation=ahocorasick_rs.Implementation.ContiguousNFA,
        )

    def exact(self, form: str, text: str = "") -> tuple[Sense, ...]:
        """Give what a whole folded form means, best first, in the light of ``text``."""
        return self._sorted(self.senses.get(form, ()), favoured(text))

    def find(self, text: str) -> list[Hit]:
        """Find the leftmost-longest names in a folded text; they do not overlap."""
        best: dict[int, tuple[int, int]] = {}
        for form, start, end in self._automaton.find_matches_as_indexes(text, overlapping=True):
            if start in best and best[start][0] >= end:
                continue
            if self._edged[form] and not at_boundary(text, start, end):
                continue
            if not self._gated[form] or fits(text, start, end, self._kinds(self._forms[form])):
                best[start] = end, form
        hits: list[Hit] = []
        reached = 0
        turned = favoured(text) if best else frozenset()
        for start in sorted(best):
            if start >= reached:
                reached, form = best[start]
                senses = self._sorted(self.senses[self._forms[form]], turned)
                hits.append(Hit(start, reached, senses))
        return hits

    def _kinds(self, form: str) -> list[str]:
        return [self.index.concepts[sense.concept].kind for sense in self.senses[form]]

    def _sorted(self, senses: tuple[Sense, ...], turned: frozenset[str]) -> tuple[Sense, ...]:
        if len(senses) < 2:
            return senses
        concepts = self.index.concepts
        return tuple(
            sorted(
                senses,
                key=lambda each: (*order(concepts[each.concept].kind, each.rank, turned), each),
            )
        )


def _is_a_name(form: str) -> bool:
    """Drop what iDISK2.0 drops: digits, punctuation, single letters; 姜 and 藕 are names."""
    return any(map(is_cjk, form)) or (len(form) > 1 and any(map(str.isalpha, form)))
