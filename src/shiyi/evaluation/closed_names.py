"""Names of the small closed vocabularies, mostly one character: read where a question asks for them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from shiyi.linking.labels import LabelIndex
from shiyi.ontology.vocabulary import Schema

CLOSED: Final = frozenset({"Nature", "Flavour", "Meridian", "ToxicityLevel"})


@cache
def closed_kinds(predicates: frozenset[str]) -> frozenset[str]:
    """Give the closed vocabularies that some relations point into.

    >>> sorted(closed_kinds(frozenset({"hasMeridianTropism", "relieves"})))
    ['Meridian']
    """
    known = Schema.load().properties
    return frozenset(
        kind for name in predicates if name in known for kind in known[name].range & CLOSED
    )


@dataclass(frozen=True, slots=True)
class ClosedNames:
    """Finds 肝, 寒 or 甘 in a text; the linker leaves them alone, for in most texts they mean no such thing."""

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
            for found in self.patterns[kind].finditer(low):
                start, end = found.span()
                if not any(a <= start and end <= b and b - a > end - start for a, b in longer):
                    yield start, end, self.meant[kind][found.group()]


def _longest_first(names: Collection[str]) -> re.Pattern[str]:
    ordered = sorted(names, key=lambda name: (-len(name), name))
    written = (rf"\b{re.escape(each)}\b" if each.isascii() else re.escape(each) for each in ordered)
    return re.compile("|".join(written))
