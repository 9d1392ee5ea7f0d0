"""Telling by bytes which names cannot be alike loses none that is."""

import random
from pathlib import Path

import numpy as np
import pytest

from shiyi.linking.normalization import fold
from shiyi.linking.umls.index import THRESHOLD, UmlsNames, filter_by_bound, grams, jaccard
from shiyi.linking.umls.sources import UmlsName

SYLLABLES = ("ma", "ri", "to", "né", "gin", "aaa", "bo", " ", "丹参", "x")


def names(count: int) -> list[str]:
    draw = random.Random(7)  # noqa: S311 # the same each time
    return ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 9))) for _ in range(count)]


def packed(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([len(block) for block in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), np.uint8), ends


@pytest.mark.slow
def test_no_name_above_threshold_lost_and_most_others() -> None:
    texts = names(3000)
    text, ends = packed(texts)
    every = np.arange(len(texts), dtype=np.int64)
    alike = left = asked_for = 0
    for asked in texts[:150]:
        own = grams(asked)
        listed = set(filter_by_bound(text, ends, every, own, THRESHOLD).tolist())
        results = {at for at, each in enumerate(texts) if jaccard(own, grams(each)) >= THRESHOLD}
        assert results <= listed
        if asked.isascii() and len(asked) > 6:
            alike, left, asked_for = alike + len(results), left + len(listed), asked_for + 1
    assert asked_for > 20
    assert alike <= left < asked_for * len(texts) / 20


@pytest.mark.parametrize("asked", ["", "a", "né", "丹参片", "ginma"])
def test_trigrams_need_three_plain_letters(asked: str) -> None:
    text, ends = packed(["ginma", "x"])
    retained = filter_by_bound(text, ends, np.array([0, 1], np.int64), grams(asked), THRESHOLD)
    assert retained.tolist() == ([0] if asked == "ginma" else [0, 1])


def test_index_finds_what_comparing_with_every_name_finds(tmp_path: Path) -> None:
    texts = sorted({fold(name) for name in names(800)} - {""})
    index = UmlsNames.build(
        [UmlsName(each, f"C{at:07d}", True, frozenset({"T121"})) for at, each in enumerate(texts)],
        tmp_path,
    )
    for text in texts[:100]:
        own = grams(text)
        results = {match.text for match in index.similar(text) if match.similarity >= THRESHOLD}
        assert results >= {each for each in texts if jaccard(own, grams(each)) >= THRESHOLD}
