"""What is fuzzed: each of our parsers takes any bytes, or refuses them by an error of our own.

A target gives nothing; whatever it raises that is no ``ShiyiError`` is a fault. Parsers whose
contract names another error (``ValueError`` of N-Quads) say so here.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError
from werkzeug.datastructures import MultiDict

from shiyi.curation.bundles import read_bundle
from shiyi.curation.vocabulary.sssom import parse_sssom, serialize_sssom
from shiyi.errors import ShiyiError
from shiyi.ingest.cases.reading import deidentify
from shiyi.ingest.cases.records import read_records
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.mapped_tables import read_rows
from shiyi.ingest.datasets.mapping import Table
from shiyi.ingest.documents.books import read_books
from shiyi.ingest.documents.document import split_passages as passages
from shiyi.ingest.documents.files import read_text
from shiyi.ingest.tables.tsv import split
from shiyi.linking.normalization import fold, language_of, normalise
from shiyi.model.profile import Profile
from shiyi.prompts.caching import ReplayModel
from shiyi.prompts.chat import GrowingList, parse_object
from shiyi.server.api import requests
from shiyi.server.http.messages import count_field, text_field
from shiyi.server.pages.ask import render_html
from shiyi.server.views.links import href, source_link
from shiyi.settings import Settings
from shiyi.sparql.base.backups import LISTING, read_listing
from shiyi.sparql.base.journal import read_journal
from shiyi.sparql.queries.requests import check_query, check_update
from shiyi.sparql.store.oxigraph import parse_n_quads
from shiyi.sparql.updates.update import set_dataset

_LIMIT: Final = 1 << 20
_TABLE: Final = Table("t.tsv", ("a", "b"), "a")
_QUOTED: Final = Table("t.csv", ("a", "b"), "a", quoted=True)
_SETTINGS: Final = Settings()


def _words(content: bytes) -> str:
    return content.decode("utf-8", "replace")


@cache
def _home() -> Path:
    return Path(tempfile.mkdtemp(prefix="shiyi-fuzz-"))


def _file(name: str, content: bytes) -> Path:
    path = _home() / name
    path.write_bytes(content)
    return path


def n_quads(content: bytes) -> None:
    """N-Quads of the journal and of uploads that a worker read."""
    try:
        quads = parse_n_quads(content)
    except ValueError:
        return
    again = "".join(f"{quad} .\n" for quad in quads).encode()
    if set(parse_n_quads(again)) != set(quads):
        raise AssertionError("written and read again, the quads differ")


def journal(content: bytes) -> None:
    """Lines of the journal."""
    list(read_journal(_file("journal", content)))


def tables(content: bytes) -> None:
    """Tab- and comma-separated tables, and lists within a cell."""
    for name, table in (("t.tsv", _TABLE), ("t.csv", _QUOTED)):
        try:
            for row in read_rows(_file(name, content), table, _SETTINGS):
                split(row["b"])
        except ShiyiError:
            continue


def books(content: bytes) -> None:
    """A line of a collection of books, with its tags."""
    list(read_books(_file("books.jsonl", content), load_dataset("tcm-ancient-books"), _LIMIT))


def texts(content: bytes) -> None:
    """A document of any ending, and its passages."""
    for ending in (".txt", ".md", ".html", ".epub"):
        try:
            _, document = read_text(_file(f"a{ending}", content), _LIMIT)
        except ShiyiError:
            continue
        list(passages(document.text, document.language, 200, 300))


def cases(content: bytes) -> None:
    """Files of cases, whose records are freed of names."""
    for ending in (".json", ".jsonl", ".csv", ".txt"):
        try:
            for record in read_records(_file(f"c{ending}", content), _LIMIT, Counter()):
                deidentify(str(record), {}, Counter())
        except ShiyiError:
            continue


def sssom(content: bytes) -> None:
    """A table of mappings; written and read again it says the same."""
    found = parse_sssom(_words(content))
    if parse_sssom(serialize_sssom(found)).rows != found.rows:
        raise AssertionError("written and read again, the mappings differ")


def bundles(content: bytes) -> None:
    """A signed bundle of reviews."""
    read_bundle(content, ())


def questions(content: bytes) -> None:
    """A question, brought into the form that names are looked up in."""
    text = _words(content)
    found = normalise(text)
    fold(text)
    language_of(text)
    start, end = found.span(0, len(found.text))
    if not 0 <= start <= end <= len(text):
        raise AssertionError("a span lies outside its text")
    text_field("question", text, 2000)


def bodies(content: bytes) -> None:
    """JSON that a request or a model sends."""
    text = _words(content)
    with suppress(ShiyiError):
        parse_object(text)
    try:
        reply: Any = json.loads(text)
    except (ValueError, RecursionError):
        return
    for read in (
        Profile.from_json,
        lambda v: count_field("k", v, 1, 20),
        lambda v: ReplayModel.from_json("m", v),
    ):
        try:
            read(reply)
        except ShiyiError:
            continue
    with suppress(ShiyiError, ValidationError):
        requests.Context.model_validate(reply).to_value()
    if isinstance(reply, dict):
        form = MultiDict({str(key): str(value) for key, value in reply.items()})
        with suppress(ShiyiError, ValidationError):
            requests.Profile.model_validate(
                requests.question_values(form, None)["profile"]
            ).to_value()


def streams(content: bytes) -> None:
    """What a model's endpoint streams, in pieces."""
    list_ = GrowingList("claims")
    for start in range(0, len(content), 7):
        list_.more(_words(content[start : start + 7]))


def guard(content: bytes) -> None:
    """Queries and updates, looked at before a worker reads them."""
    text = _words(content)
    with suppress(ShiyiError):
        check_query(text, 10_000)
    set_dataset(text, check_update(text, 10_000), ["urn:g"], ["urn:h"])


def markdown(content: bytes) -> None:
    """What is shown as HTML never holds a script, a handler or another scheme."""
    text = _words(content)
    shown = str(render_html(text, {1: "/page/x"})).lower()
    for sign in ("<script", "<iframe", "<svg", "<object", "<style", "srcdoc="):
        if sign in shown:
            raise AssertionError(f"{sign} in {shown!r}")
    for link in (href(text), source_link(text)):
        if link and not link.startswith(("/", "http://", "https://", "mailto:")):
            raise AssertionError(f"a link to {link!r}")
    if href(text).startswith("//"):
        raise AssertionError("a link to another host")


def settings(content: bytes) -> None:
    """The operator's file."""
    Settings.read(_words(content), {})


def listings(content: bytes) -> None:
    """The list of a backup's files."""
    _file(LISTING, content)
    read_listing(_home())


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    target.__name__: target
    for target in (
        n_quads,
        journal,
        tables,
        books,
        texts,
        cases,
        sssom,
        bundles,
        questions,
        bodies,
        streams,
        guard,
        markdown,
        settings,
        listings,
    )
}
SEEDS: Final[dict[str, tuple[bytes, ...]]] = {
    "n_quads": (b'<a:a> <a:b> "x"@en <a:g> .\n', b'<a:a> <a:b> <<( <a:a> <a:b> "1"^^<a:c> )>> .\n'),
    "journal": (b'{"sequence": 1, "key": "k", "who": "w", "why": "y", "when": "2026"}\n+<a:a> <a:b> <a:c> .\n',),
    "tables": (b"a\tb\n1\t2\n", b'a,b\n"1","2|3"\n'),
    "books": ('{"title": "书", "text": "<篇名>一\\n内容：甘。\\n属性：平", "file": "a.txt"}'.encode(),),
    "texts": ("# 一\n\n甘。\n\n## 二\n\n| a | b |\n|---|---|\n| 1 | 2 |\n".encode(),
    b"<html><h1>a</h1><p>b<table><tr><td>c</table>"),
    "cases": ('[{"Clinical Data": "张三，女，42岁，电话13800138000", "TCM Syndrome": "a;b"}]'.encode(), "text\n张三 女 42岁".encode()),
    "sssom": (b"#curie_map:\n#  A: https://a.org/\nsubject_id\tpredicate_id\tobject_id\tmapping_justification\tconfidence\nA:1\tskos:exactMatch\tA:2\tsemapv:ManualMappingCuration\t0.5\n",),
    "bundles": (b'{"format": "shiyi-reviews-1", "key": "AAAA"}\n{"kind": "accept"}\n{"signature": "AAAA"}\n',),
    "questions": ("枸杞 和 華法林 能一起吃嗎？".encode(), "Ｇｏｊｉ e\u0301 ﬁ İ".encode()),
    "bodies": (b'{"age": 34, "medicines": ["x"], "pregnant": true}',
    b'{"questions": ["a"], "profile": {}}', b'```json\n{"a": 1}\n```'),
    "streams": (b'data: {"choices": [{"delta": {"content": "{\\"claims\\": [{\\"a\\": 1}, "}}]}\n\ndata: [DONE]\n', b'{"claims": [{"a": "b]"}, {"c": {}}]}'),
    "guard": (b"PREFIX a: <a:> SELECT * { ?s a:b '''x''' FILTER(?s > 1) }",
    b"DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { GRAPH ?g { ?s ?p ?o } } ; CLEAR DEFAULT"),
    "markdown": (b"# a\n\n**b** [1] [x](https://a.org) `c`\n\n> d\n\n| a |\n|---|\n| b |",
    b"javascript:alert(1)", b"//evil.example", b"doi:10.1/x"),
    "settings": (b'store = ""\n[paths]\ntop_k = 5\n[server]\nport = 80\n',),
    "listings": (b'{"release": "r", "made": "2026", "files": {"a": "b"}, "size": 3}',),
}  # fmt: skip


def try_target(target: str, content: bytes) -> bool:
    """Return whether a target took the bytes; False where it refused them by an error of Shiyi's."""
    try:
        TARGETS[target](content)
    except ShiyiError:
        return False
    return True
