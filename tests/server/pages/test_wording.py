"""Every text a reader sees stands in both catalogues, and numbers and dates are written as read."""

import ast
import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations
from flask.testing import FlaskClient
from jinja2 import Environment, nodes

from shiyi import errors
from shiyi.artefacts import artefact
from shiyi.server.app import create_app
from shiyi.server.i18n import LANGUAGES, Catalogue, fault_text
from tests.support.places import ROOT
from tests.support.sites import open_test_site
from tests.tables import from_table

ENDPOINTS = {"api.answer_json", "sparql.sparql"}
SERVER = artefact("server")
CODE = ROOT / "src" / "shiyi" / "server"
# names of formats and standards, and what only a machine or a typist reads
NAMES = {
    "atom", "bibtex", "connect", "broader", "citation", "cff", "changes", "conforms", "cui", "csv", "datacite", "json", "ld", "kgx", "method",
    "modifier", "neo", "not", "nquads", "ntriples", "openapi", "openid", "predicate", "rdf", "rdfc", "release", "sha", "shacl", "shiyi", "sparql", "sssom",
    "sums", "svg", "tsv", "turtle", "trig", "umls", "url", "void", "version", "website", "xml", "食医",
}  # fmt: skip


@cache
def written(language: str) -> Catalog:
    with (SERVER / "i18n" / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return read_po(file, locale=language)


@cache
def texts(language: str) -> dict[str, tuple[str, ...]]:
    def text(message: Message) -> tuple[str, ...]:
        return (message.string,) if isinstance(message.string, str) else tuple(message.string or ())

    def key(message: Message) -> str:
        return message.id if isinstance(message.id, str) else message.id[0]

    return {key(item): text(item) for item in written(language) if item.id}


def templates() -> list[Path]:
    return sorted((SERVER / "templates").rglob("*.html"))


def asked() -> tuple[set[str], set[str]]:
    """Collect the keys that templates and code name, and the beginnings of those put together."""
    keys: set[str] = set()
    beginnings: set[str] = set()
    for text in (call for path in templates() for call in said_in_calls(path)):
        keys.add(text)
        beginnings.add(text if "." in text else f"{text}.")
    for path in sorted(CODE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                beginnings.add(str(node.values[0].value))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                keys.add(node.value)
    return keys, {beginning for beginning in beginnings if re.fullmatch(r"[a-z_]+\.\w*", beginning)}


def said_in_calls(template: Path) -> Iterator[str]:
    """Yield the constant texts in the first arguments of a template's calls."""
    for call in (
        Environment(autoescape=True).parse(template.read_text("utf-8")).find_all(nodes.Call)
    ):
        for first in call.args[:1]:
            for item in (first, *first.find_all(nodes.Const)):
                if isinstance(item, nodes.Const) and isinstance(item.value, str):
                    yield item.value


def holes(text: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", text))


def test_both_languages_have_every_text_with_same_holes() -> None:
    assert texts("zh").keys() == texts("en").keys()
    assert len(texts("zh")) > 700
    for key, chinese in texts("zh").items():
        english = texts("en")[key]
        assert all(chinese), key
        assert all(english), key
        assert {name for each in chinese for name in holes(each)} == {
            name for each in english for name in holes(each)
        }, key
    assert [item.id for name in LANGUAGES for item in written(name) if item.fuzzy and item.id] == []


def sayings(translations: Translations) -> dict[object, str]:
    return {key: text for key, text in translations._catalog.items() if key}


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_shipped_compiled_is_what_catalogue_says(language: str) -> None:
    made = io.BytesIO()
    write_mo(made, written(language))
    made.seek(0)
    shipped = Catalogue.load(language).translations
    assert isinstance(shipped, Translations)
    stale = "run `make texts`, and commit messages.mo"
    assert sayings(Translations(made)) == sayings(shipped), stale


def test_texts_and_keys_of_pages_agree() -> None:
    keys = texts("zh").keys()
    sections = {key.partition(".")[0] for key in keys}
    named, beginnings = asked()
    whole = {each for each in named if re.fullmatch(r"[a-z_]+\.[\w-]+", each)}
    whole = {
        each
        for each in whole
        if each.partition(".")[0] in sections
        and each not in ENDPOINTS
        and not each.endswith((".html", ".css", ".js"))
    }
    assert len(whole & keys) > 500
    assert {each for each in whole - keys if not any(key.startswith(each) for key in keys)} == set()
    begun = tuple(beginnings)
    assert {key for key in keys - whole if not key.startswith(begun)} == set()


def test_no_template_says_anything_outside_the_catalogues() -> None:
    for path in templates():
        source = re.sub(
            r"\{#.*?#\}|\{%-? set \w+ %\}.*?\{%-? endset.*?%\}|<script.*?</script>|<code[ >].*?</code>",
            " ",
            path.read_text("utf-8"),
            flags=re.DOTALL,
        )
        source = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", source, flags=re.DOTALL)
        shown = re.findall(r"""(?:title|aria-label|placeholder|alt)="([^"]*)\"""", source)
        shown.append(re.sub(r"<[^>]*>|[\w-]+=\"[^\"]*\"", " ", source))
        for text in shown:
            values = {item.lower() for item in re.findall(r"[A-Za-z]{2,}|[\u3400-\u9fff]+", text)}
            assert values - NAMES == set(), path


def test_no_script_says_anything_outside_the_catalogues() -> None:
    looked = 0
    for path in sorted((SERVER / "static" / "js").glob("*.js")):
        source = re.sub(r"(^|\s)//.*|/\*.*?\*/", "", path.read_text("utf-8"))
        assert not re.search(r"[\u3400-\u9fff]", source.replace("，、；。？！", "")), path
        values = re.findall(
            r"""(?:textContent|innerText|title|placeholder)\s*=\s*["'`]([^"'`]*)""", source
        )
        values += re.findall(
            r"""setAttribute\(\s*["'](?:aria-label|title|placeholder)["'],\s*["'`]([^"'`]*)""",
            source,
        )
        for text in values:
            assert not re.search(r"[A-Za-z]{2,}", re.sub(r"\$\{.*?\}", "", text)), (path, text)
        looked += 1
    assert looked >= 5


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    site = open_test_site(Path(tmp_path_factory.mktemp("site")))
    yield create_app(site).test_client()
    site.close()


def test_counts_have_plural_and_units_of_language(client: FlaskClient) -> None:
    one = "/sparql?query=SELECT+*+%7B+%3Fs+%3Fp+%3Fo+%7D+LIMIT+"
    html = {"Accept": "text/html"}
    assert ">1 row ·" in client.get(f"{one}1&lang=en", headers=html).text
    assert ">2 rows ·" in client.get(f"{one}2&lang=en", headers=html).text
    assert ">2 行 ·" in client.get(f"{one}2&lang=zh", headers=html).text
    assert "1毫秒" in client.get("/ask?q=goji&lang=zh").text
    assert "1 ms" in client.get("/ask?q=goji&lang=en").text


def test_key_without_text_is_fault_and_never_shown() -> None:
    with pytest.raises(KeyError, match=r"no\.such"):
        Catalogue.load("zh")("no.such")
    assert Catalogue.load("en").get("no.such", "as it is") == "as it is"


# packages and modules that raise what a page shows
FAULTY = (
    "server/**/*.py", "curation/*.py", "curation/[dev]*/*.py", "answering/*.py", "model/claim.py",
    "model/profile.py", "answering/generation/audit.py", "answering/sections/cabinet.py",
    "answering/retrieval/paths.py", "answering/understanding/frame.py", "ingest/batches.py",
    "ingest/documents/files.py", "ingest/datasets/limits.py", "ingest/datasets/mapped_tables.py",
    "sparql/queries/requests.py", "sparql/queries/results.py", "sparql/sandbox/*.py",
    "sparql/queries/vocabulary_check.py", "sparql/updates/*.py", "sparql/remote/pool.py",
    "reasoning/confidence/reviews.py",
)  # fmt: skip
RAISED = {name for name in vars(errors) if name.endswith("Error")} | {
    "BadRequest", "Forbidden", "MethodNotAllowed", "NotAcceptable", "NotFound", "ServiceUnavailable",
    "TooManyRequests", "Unauthorized", "UnsupportedMediaType",
}  # fmt: skip
OF_START = ("SettingError", "UnboundVariableError", "MissingExtraError")  # before a page is shown


def raised(path: Path) -> Iterator[str]:
    """Yield the texts of the faults that a module raises, with ``{}`` for each value."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if isinstance(node, ast.Call) and name in RAISED and name not in OF_START:
            yield from (text for arg in node.args for text in said(arg))


def said(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.JoinedStr):
        parts = (value.value if isinstance(value, ast.Constant) else "{}" for value in node.values)
        yield re.sub(r"(\{\})+", "{}", "".join(map(str, parts)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
        for child in ast.iter_child_nodes(node):
            yield from said(child)


def test_every_fault_that_page_shows_has_chinese_text() -> None:
    source = ROOT / "src" / "shiyi"
    paths = {path for each in FAULTY for path in source.glob(each)}
    results = {text for path in paths for text in raised(path) if re.search("[A-Za-z]{2}", text)}
    assert len(results) > 250
    plain = [each for each in results if fault_text(each.replace("{}", "query"), "zh").isascii()]
    assert len(plain) <= len(results) // 100, f"add to faults.po and run `make texts`: {plain}"


@pytest.mark.parametrize(
    ("fault", "chinese"),
    [
        (errors.FormatError("file", "a.exe", [".pdf"]), "文件“a.exe”不在其中：.pdf"),
        (errors.TooLargeError("the question", 5000, 2000), "问题有 5,000 字；最多 2,000，请缩短"),
        (errors.StaleError(["claim/1"]), "您读过之后有人改动了它：claim/1；没有写入任何内容，请先重新查看"),
        (errors.TableError(["t.csv:3 has 2 cells, not 4"]),
         "表中有 1 处错误：\nt.csv 第 3 行有 2 个单元格，不是 4 个"),
        (errors.UsageError("a reason of my own"), "a reason of my own"),
    ],
)  # fmt: skip
def test_values_of_a_fault_stay_in_its_chinese(fault: Exception, chinese: str) -> None:
    assert fault_text(str(fault), "zh") == chinese
    assert fault_text(str(fault), "en") == str(fault)


@from_table
def test_chinese_page_of_a_fault_is_chinese(client: FlaskClient, path: str, words: str) -> None:
    mark = "&" if "?" in path else "?"
    page = client.get(f"{path}{mark}lang=zh", headers={"Accept": "text/html"}).text
    assert words in page
    detail = re.search(r'class="(?:detail|parser)"[^>]*>([^<]*)', page)
    assert detail is None or not detail[1].isascii()
