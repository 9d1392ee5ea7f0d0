"""How the claims and their evidence are spread, as labelled bars."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from shiyi.model.names import VOCAB
from shiyi.model.rdf import NamedNode
from shiyi.server.counting import CLASSES
from shiyi.server.reading import Reader
from shiyi.server.spread import Spread
from shiyi.server.wording import Catalogue

Bars = tuple[tuple[str, int], ...]
_RELATIONS = 15


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts as labelled bars."""

    confidence: Bars
    tiers: Bars
    checked: Bars
    relations: Bars


def statistics(spread: Spread, reader: Reader, words: Catalogue) -> Statistics:
    """Name what was counted, in the language of a reader."""
    first = next((n for n, count in enumerate(spread.confidence) if count), 0)
    most = Counter(spread.relations).most_common(_RELATIONS)
    return Statistics(
        tuple(
            (f"{n / 10:.1f}–{(n + 1) / 10:.1f}", spread.confidence[n])
            for n in range(first, len(spread.confidence))
        ),
        _ranked((words.get(f"tier.{name}", name), count) for name, count in spread.tiers.items()),
        _ranked(
            (words.get(f"checked.{name}", name), count) for name, count in spread.checked.items()
        ),
        _ranked((reader.thing(NamedNode(name)).label, count) for name, count in most),
    )


def classes(reader: Reader, counts: Mapping[str, int]) -> Bars:
    """Name the largest classes of concepts."""
    return _ranked(
        (reader.thing(NamedNode(VOCAB + name)).label, counts[name])
        for name in CLASSES if name in counts
    )[:_RELATIONS]  # fmt: skip


def _ranked(bars: Iterable[tuple[str, int]]) -> Bars:
    return tuple(sorted(bars, key=lambda each: -each[1]))
