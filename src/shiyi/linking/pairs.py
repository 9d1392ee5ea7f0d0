"""What the embedding learns from: two texts that mean one concept."""

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from shiyi.linking.labels import KINDS, read_rows
from shiyi.linking.normalise import fold


class Pair(NamedTuple):
    """Two texts of one concept, and the class whose other members are its hard negatives."""

    one: str
    other: str
    concept: str
    kind: str


def pairs_of_tables(folder: Path) -> list[Pair]:
    """Read zh–en, alias–label, Latin–label and term–definition pairs from the concept tables."""
    found: dict[Pair, None] = {}
    for row in read_rows(folder):
        if row["class"] in KINDS:
            for one, other in _pairs(row):
                pair = Pair(fold(one), fold(other), row["id"], row["class"])
                if pair.one and pair.other and pair.one != pair.other:
                    found[pair] = None
    return list(found)


def _pairs(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    zh, en = row["zh"], row["en"]
    aliases_zh = [each for each in row.get("alt_zh", "").split("|") if each]
    aliases_en = [each for each in row.get("alt_en", "").split("|") if each]
    yield zh, en
    for alias in aliases_zh:
        yield alias, zh
        yield alias, en
    for alias in aliases_en:
        yield alias, en
        yield alias, zh
    if latin := row.get("latin", ""):
        yield latin, zh
        yield latin, en
    yield zh, row.get("definition_zh", "")
    yield en, row.get("definition_en", "")
    yield row.get("definition_zh", ""), row.get("definition_en", "")


def batches(
    pairs: Sequence[Pair], size: int, by_kind: bool, chance: random.Random
) -> list[list[Pair]]:
    """Shuffle the pairs into batches in which each concept stands once, so none is its own negative.

    With ``by_kind`` a batch holds one class only, as MLKG-RAG groups its negatives by section.
    """
    groups: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.kind if by_kind else ""].append(pair)
    made: list[list[Pair]] = []
    for kind in sorted(groups):
        chance.shuffle(groups[kind])
        made += _apart(groups[kind], size)
    chance.shuffle(made)
    return [batch for batch in made if len(batch) > 1]


def _apart(pairs: Sequence[Pair], size: int) -> Iterator[list[Pair]]:
    waiting = list(pairs)
    while waiting:
        batch: dict[str, Pair] = {}
        later: list[Pair] = []
        for place, pair in enumerate(waiting):
            if len(batch) == size:
                later += waiting[place:]
                break
            if batch.setdefault(pair.concept, pair) is not pair:
                later.append(pair)
        yield list(batch.values())
        waiting = later
