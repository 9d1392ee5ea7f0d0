import sys
from types import FrameType
from typing import Any

import pytest

from shiyi.linking.linker import Linker
from tests.linkers import of_tables


@pytest.fixture(scope="module")
def linker() -> Linker:
    return of_tables()


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n", "\0", "🙂" * 50, "\ud800枸杞", "ɢоji", "\U000e0fff", "ﷺ", "…", "?" * 500,
        "a" * 5000, "的" * 5000, "(" * 500,
    ],
)  # fmt: skip
def test_any_text_is_taken(linker: Linker, text: str) -> None:
    for mention in linker.link(text):
        assert 0 <= mention.start < mention.end <= len(text)


def test_an_enormous_text_is_linked_up_to_the_most_mentions(linker: Linker) -> None:
    assert len(linker.link("枸杞和未知物甲乙丙，blorptide；" * 20_000)) == 40


@pytest.mark.parametrize("piece", [
    "枸杞子和当归，", "没有发热、", "枸gojі🙂", "gouqi", "龘靐齉", "no fever or ", "a\u0301", "(",
])  # fmt: skip
def test_ten_times_the_text_takes_no_more_than_about_ten_times_the_steps(
    linker: Linker, piece: str
) -> None:
    def steps(count: int) -> int:
        text, taken = piece * count, 0

        def count_line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal taken
            taken += 1
            return count_line

        sys.settrace(count_line)
        try:
            linker.link(text)
        finally:
            sys.settrace(None)
        return taken

    linker.link(piece)
    assert steps(1000) <= 12 * steps(100) + 1000


def test_of_a_long_run_of_strange_words_only_the_first_are_compared_with_names(
    linker: Linker, monkeypatch: pytest.MonkeyPatch
) -> None:
    linker.link("warfrin")
    near = linker._guesser.near
    spelt, asked = near.spelt, list[str]()

    def counted(text: str) -> tuple[tuple[str, float], ...]:
        asked.append(text)
        return spelt(text)

    monkeypatch.setattr(near, "spelt", counted)
    mentions = linker.link("blorp tide " * 10_000)
    assert len(asked) <= 1000
    assert 0 < len(mentions) <= 40
