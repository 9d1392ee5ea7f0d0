"""SMGCN prescriptions."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shiyi.evaluation.items import Prescription, Skips, WeightedTriple, lines


@dataclass(frozen=True, slots=True)
class Prescriptions:
    """Prescriptions by name, with the names that may be asked for."""

    items: tuple[Prescription, ...]
    herbs: tuple[str, ...]
    skips: Skips = field(default_factory=Skips)

    def held_out(self, share: float, seed: int) -> tuple["Prescriptions", "Prescriptions"]:
        """Split the set by chance into a training and a test part."""
        order = list(self.items)
        random.Random(seed).shuffle(order)  # noqa: S311 - a draw, no secret
        cut = round(len(order) * share)
        return (
            Prescriptions(tuple(order[cut:]), self.herbs),
            Prescriptions(tuple(order[:cut]), self.herbs, self.skips),
        )


def load_prescriptions(path: Path, limit: int | None = None) -> Prescriptions:
    """Read ``symptom ids, tab, herb ids`` with the two mappings of names beside the file."""
    skips = Skips()
    symptoms = _names(path.with_name("sym_mapping.txt"), skips)
    herbs = _names(path.with_name("herb_mapping.txt"), skips)
    items: list[Prescription] = []
    for place, text in lines(path, skips):
        cells = text.split("\t")
        if len(cells) != 2:
            skips.note("no symptoms and herbs", place)
            continue
        had = [symptoms.get(part, part if not symptoms else "") for part in cells[0].split()]
        given = [herbs.get(part, part if not herbs else "") for part in cells[1].split()]
        if not had or not given:
            skips.note("no symptoms and herbs", place)
        elif not all(had) or not all(given):
            skips.note("an id without a name", place)
        else:
            items.append(Prescription(place, tuple(had), frozenset(given)))
    every = sorted({*herbs.values(), *(h for prescription in items for h in prescription.herbs)})
    return Prescriptions(tuple(items[:limit]), tuple(every), skips)


def load_triples(path: Path, limit: int | None = None) -> tuple[tuple[WeightedTriple, ...], Skips]:
    """Read tab-separated head, relation, tail, confidence; repetitions are counted.

    A triple that stands with two confidences is stored with both, as in PPI5k.
    """
    skips = Skips()
    items: dict[tuple[str, str, str, float], WeightedTriple] = {}
    for place, text in lines(path, skips):
        cells = [cell.strip() for cell in text.split("\t")]
        value = _number(cells[3]) if len(cells) == 4 else None
        if len(cells) != 4 or not all(cells[:3]):
            skips.note("not four columns", place)
        elif value is None or not 0.0 <= value <= 1.0:
            skips.note("no confidence in [0, 1]", place)
        elif (key := (cells[0], cells[1], cells[2], value)) in items:
            skips.note("the same triple again", place)
        else:
            items[key] = WeightedTriple(*key)
    return tuple(items.values())[:limit], skips


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _names(path: Path, skips: Skips) -> dict[str, str]:
    if not path.is_file():
        return {}
    return dict(_pairs(list(lines(path, skips)), skips))


def _pairs(rows: Sequence[tuple[str, str]], skips: Skips) -> Iterator[tuple[str, str]]:
    for place, text in rows:
        name, _, number = text.strip().rpartition(" ")
        if name and number.isdigit():
            yield number, name.strip()
        else:
            skips.note("a mapping without name and id", place)
