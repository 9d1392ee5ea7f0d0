"""Tables of ontology/lexicon in both languages: sentences, and cues as patterns of folded text.

A table is tab-separated with a heading; lines that begin with ``#`` are comments.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from string import Formatter
from typing import Final

from shiyi.artefacts import artefact
from shiyi.errors import TableError

_REFERENCE: Final = re.compile(r"\{\{([\w-]+\*?)\}\}")
_NEAR: Final = re.compile(r"(.*) ~(\d+)~ (.*)")


def rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of ``ontology/lexicon/NAME.tsv``, each as wide as its heading.

    Raise ``TableError`` for a row of another width.
    """
    text = artefact(f"ontology/lexicon/{name}.tsv").read_text("utf-8")
    lines = enumerate(text.splitlines(), 1)
    table = [(number, line.split("\t")) for number, line in lines if line and line[0] != "#"]
    for number, cells in table:
        if len(cells) != len(table[0][1]):
            raise TableError([f"{name}.tsv, line {number}: not as wide as the heading"])
    yield from (cells for _, cells in table[1:])


@cache
def sentences(name: str = "sentences") -> Mapping[str, tuple[str, str]]:
    """Return sentences by their key, each in Chinese and in English.

    Raise ``TableError`` where a key comes twice, a language is missing or its holes differ.

    >>> sentences()["v_colon"]
    ('：', ': ')
    """
    results: dict[str, tuple[str, str]] = {}
    for key, *texts in rows(name):
        holes = [{hole for _, hole, _, _ in Formatter().parse(text)} - {None} for text in texts]
        if key in results or not all(texts) or holes[0] != holes[1]:
            raise TableError([f"{name}.tsv: {key} has one row, both languages and the same holes"])
        results[key] = (texts[0], texts[1])
    return results


@cache
def cue_texts(name: str) -> Mapping[str, tuple[str, str]]:
    """Return the alternatives of each cue of ``cues/NAME.tsv``, in Chinese and in English.

    Rows of one name are alternatives. ``{{other}}`` stands for those of another cue in the same
    language, ``{{other*}}`` for those in both; ``one ~25~ other`` finds both within 25 characters.
    """
    cells = _cells(name)
    return {cue: (_text(cells, cue, 0), _text(cells, cue, 1)) for cue in cells}


@cache
def cues(name: str) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of ``ontology/lexicon/cues/NAME.tsv`` by their names, in their order.

    Names that begin with ``_`` are parts of others. Raise ``TableError`` for what is no pattern.
    """
    cells, patterns = _cells(name), dict[str, re.Pattern[str]]()
    for cue in (cell for cell in cells if not cell.startswith("_")):
        try:
            patterns[cue] = re.compile(_text(cells, cue))
        except re.error as fault:
            raise TableError([f"cues/{name}.tsv: {cue} is no pattern: {fault}"]) from fault
    return patterns


@cache
def word_list(name: str, cue: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a cue that holds plain words alone, Chinese and English."""
    chinese, english = cue_texts(name)[cue]
    return frozenset(filter(None, chinese.split("|"))), frozenset(filter(None, english.split("|")))


class Cues(dict[str, re.Pattern[str]]):
    """The patterns of one table, read when one is first looked up."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __missing__(self, cue: str) -> re.Pattern[str]:
        """Read the table."""
        self.update(cues(self.name))
        return self[cue] if cue in self else cues(self.name)[cue]  # KeyError


_Cells = Mapping[str, list[list[str]]]


@cache
def _cells(name: str) -> _Cells:
    results: dict[str, list[list[str]]] = {}
    for cue, *texts in rows(f"cues/{name}"):
        results.setdefault(cue, []).append(texts)
    return results


def _text(cells: _Cells, cue: str, column: int | None = None) -> str:
    """Join the alternatives of a cue, in the order of the table; of one column or of both."""
    texts = (row if column is None else [row[column]] for row in cells[cue])
    places = (0, 1) if column is None else (column,)
    filled = (
        _expand_references(cells, text, place)
        for row in texts
        for place, text in zip(places, row, strict=True)
    )
    return "|".join(text for text in filled if text)


def _expand_references(cells: _Cells, text: str, column: int) -> str:
    """Replace references by what they name, and write out proximity as a pattern."""

    def alternatives(reference: re.Match[str]) -> str:
        name = reference[1]
        if name.endswith("*"):
            return _text(cells, name[:-1])
        return _text(cells, name, column) or _text(cells, name, 1 - column)

    text = _REFERENCE.sub(alternatives, text)
    if match := _NEAR.fullmatch(text):
        one, gap, other = match.groups()
        between = f"[^。！？!?.;；]{{0,{gap}}}?"
        return f"(?:{one}){between}(?:{other})|(?:{other}){between}(?:{one})"
    return text
