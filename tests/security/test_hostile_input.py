"""Hostile texts through every field, form, label, literal, name and IRI: they stay text."""

import ast
import inspect
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.datastructures import MultiDict

import shiyi.server
from shiyi.build import index_base
from shiyi.errors import KnowledgeBaseError, QueryError, ShiyiError, UsageError
from shiyi.model.iris import graph
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.prompts.caching import ReplyStore
from shiyi.server.api import requests
from shiyi.server.app import create_app
from shiyi.server.http.messages import count_field, text_field
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings
from shiyi.sparql.base.backups import LISTING, read_listing
from shiyi.sparql.base.journal import Record, read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.queries.requests import check_query, check_update
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.contracts import A, B, P
from tests.support import bases
from tests.support.hostile import BROKEN, CONTROLS, LETTERS, planted, sample, texts
from tests.support.sites import FullDesks, Visitor, csrf_in, served

MANY = settings(
    max_examples=int(
        os.environ.get("SHIYI_EXAMPLES", "20000" if os.environ.get("SHIYI_NIGHTLY") else "120")
    ),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
WORDS = st.sampled_from(
    ["SELECT", "ASK", "SERVICE", "LOAD", "{", "}", "(", ")", "<a:a>", "'", '"', "'''", "\\", "#",
     "\n", "a:b",
     ":", "?x", "INSERT", "DATA", "DELETE", "WHERE", ";", ".", "PREFIX", "BASE", "<", ">", "<<(",
     ")>>", "\\u0041",
     "FILTER", "EXISTS", "GRAPH", "VALUES", "UNION", "*", "/", "|", "^", "!", "=", "1", "1e9",
     "@en", "^^"]
)  # fmt: skip
SOUP = st.lists(WORDS | st.sampled_from(texts()) | st.text(max_size=20), max_size=60).map(" ".join)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(texts()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from([
    "age", "sex", "pregnant", "lactating", "medicines", "allergies", "conditions", "constitution",
    "questions", "asked", "profile", "release", "made", "files", "size",
])  # fmt: skip


@MANY
@given(SOUP)
def test_the_guard_lets_through_or_refuses_any_text(text: str) -> None:
    for check in (check_query, check_update):
        try:
            check(text, 10_000)
        except (QueryError, ShiyiError):
            continue


@MANY
@given(st.text(max_size=300) | SOUP)
def test_a_question_is_taken_or_refused(text: str) -> None:
    try:
        assert text_field("question", text, 250) == text.strip()
    except ShiyiError:
        return


@MANY
@given(st.dictionaries(FIELDS, VALUES, max_size=6) | VALUES)
def test_profile_and_context_are_taken_or_refused(result: object) -> None:
    with suppress(ShiyiError):
        assert isinstance(Profile.from_json(result), Profile)
    with suppress(ShiyiError):
        requests.parse_request(requests.Context, result).to_value()
    with suppress(ShiyiError):
        count = count_field("k", result, 1, 20)
        assert result in (None, "") if count is None else 1 <= count <= 20
    if isinstance(result, dict):
        with suppress(ShiyiError):
            form = MultiDict({key: str(value) for key, value in result.items()})
            values = requests.question_values(form, "q")["profile"]
            read = requests.parse_request(requests.Profile, values, strict=False).to_value()
            assert isinstance(read, Profile)


RECORD = Record(
    1, "k", "w", "why", "2026-01-01", (Quad(A, P, B),), (Quad(A, P, Literal("第\n一")),)
).to_bytes()


@MANY
@given(
    st.lists(
        st.tuples(st.integers(0, len(RECORD) - 1), st.binary(max_size=6)), min_size=1, max_size=4
    )
)
def test_journal_that_was_tampered_with_refused_or_same(cuts: list[tuple[int, bytes]]) -> None:
    written = RECORD
    for at, more in cuts:
        written = written[:at] + more + written[at + len(more) :]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "j"
        path.write_bytes(written)
        try:
            records = list(read_journal(path))
        except KnowledgeBaseError:
            return
        assert records in ([], [Record.from_lines(RECORD.splitlines(keepends=True))])


@MANY
@given(
    st.binary(max_size=200)
    | VALUES.map(lambda v: json.dumps(v).encode())
    | st.dictionaries(FIELDS, VALUES).map(lambda v: json.dumps(v).encode())
)
def test_listing_of_backup_is_read_or_refused(written: bytes) -> None:
    with TemporaryDirectory() as folder:
        (Path(folder) / LISTING).write_bytes(written)
        try:
            backup = read_listing(Path(folder))
        except KnowledgeBaseError:
            return
        assert {"release", "made", "files", "size"} <= json.loads(written).keys()
        assert backup.release == json.loads(written)["release"]


@MANY
@given(
    st.text(max_size=200) | SOUP,
    st.dictionaries(
        st.sampled_from(
            [
                "SHIYI_PATHS_TOP_K",
                "SHIYI_SERVER_PORT",
                "SHIYI_SERVER_RESTRICTED",
                "SHIYI_STORE",
                "SHIYI_BASE",
            ]
        ),
        st.text(max_size=20),
    ),
)
def test_settings_are_read_or_refused(toml: str, env: dict[str, str]) -> None:
    try:
        read = Settings.read(toml, env)
    except ShiyiError:
        return
    for section, key in (("paths", "top_k"), ("server", "port")):
        value = getattr(getattr(read, section), key)
        assert type(value) is int
        result = env.get(f"SHIYI_{section.upper()}_{key.upper()}")
        assert result is None or value == int(result)


def test_replies_that_were_stored_badly_are_not_read(tmp_path: Path) -> None:
    ReplyStore.open(tmp_path).close()
    for path in tmp_path.iterdir():
        path.write_bytes(b"no database " * 400)
    with pytest.raises(ShiyiError):
        ReplyStore.open(tmp_path)


SERVER = Path(shiyi.server.__file__).parent
OPEN = {"/curate/report", "/curate/sign-in", "/curate/oidc", "/curate/oidc/callback"}
NIGHTLY = bool(os.environ.get("SHIYI_NIGHTLY"))
EACH = int(os.environ.get("SHIYI_HOSTILE", len(texts()) if NIGHTLY else 4))  # for each field
READ = {
    "/": ("lang",), "/ask": ("q", "lang", "method", "k", "age", "sex", "medicines", "allergies",
    "conditions", "constitution", "pregnant", "lactating", "context", "avoids", "drop", "reply", "pivots"),
    "/api/ask": ("q", "lang", "method", "k"),
    "/api/ask/stream": ("q", "lang", "context"), "/api/complete": ("q", "lang", "limit"),
    "/browse": ("class", "page", "q", "letter"), "/compare": ("ids",), "/concept-search": ("q",
    "class", "page"),
    "/constitution": ("q1", "lang"), "/dishes": ("with", "without", "season", "for"),
    "/statistics": ("lang",),
    "/sparql": ("query", "default-graph-uri", "named-graph-uri", "timeout", "format", "profile"),
    "/rdf-graph-store": ("graph", "default"), "/vocab": ("lang", "q"), "/healthz": ("x",),
    "/curate/claim": ("iri", "claim"), "/curate/history": ("iri", "claim", "thing"),
    "/curate/queue": ("kind", "page", "sort", "source"),
    "/curate/thing": ("iri", "at"), "/curate/quarantine": ("page", "q"), "/curate/mappings": ("q",
    "page", "predicate"),
    "/curate/feedback": ("kind", "page"), "/curate/vocabulary": ("q", "class"),
    "/curate/vocabulary/concept": ("iri", "id"),
    "/curate/report": ("about", "claim"), "/curate/sign-in": ("next", "name"),
    "/curate/audit": ("page",),
    "/curate/edit": ("claim", "iri"), "/curate/reviews.jsonl": ("since",),
    "/curate/proposals": ("kind",),
}  # fmt: skip
SEGMENTS = (
    "/id/{}", "/page/{}", "/data/{}.ttl", "/data/{}", "/graph/{}", "/releases/{}/",
    "/releases/latest/{}",
    "/docs/{}", "/docs/?q={}", "/static/{}", "/static/favicon.svg?v={}", "/vocab.{}", "/curate/change/{}",
    "/rdf-graph-store/{}", "/sitemap-{}.1.xml", "/{}",
)  # fmt: skip
FORMS = {
    "/check": ("things", "thing", "replace"),
    "/curate/review": ("claim", "kind", "reason", "agreement", "expected", "key", "next", "form"),
    "/curate/comment": ("claim", "text", "reason", "next"), "/curate/undo": ("change", "reason"),
    "/curate/assign": ("claim", "who"), "/curate/batch": ("claim", "kind", "reason"),
    "/curate/edit": ("claim", "subject", "predicate", "object", "reason", "quote"),
    "/curate/edit/check": ("claim", "object", "predicate", "form"), "/curate/quarantine": ("claim", "what",
    "reason"),
    "/curate/mappings": ("subject", "object", "predicate", "what", "reason"),
    "/curate/feedback": ("item", "what", "reply"),
    "/curate/report": ("about", "text", "kind", "website"), "/curate/proposals": ("kind",
    "label_zh", "label_en", "reason"),
    "/curate/proposals/settle": ("proposal", "what"), "/curate/vocabulary/concept": ("iri",
    "label_zh", "alt_en"),
    "/curate/vocabulary/move": ("from", "to", "what"), "/curate/people": ("name", "role",
    "password"),
    "/curate/people/nobody": ("role", "what"), "/curate/account/password": ("old", "new"),
    "/curate/sign-in": ("name", "password", "next"), "/curate/import": ("bundle",),
    "/sparql": ("query", "update", "default-graph-uri", "named-graph-uri", "using-graph-uri",
    "using-named-graph-uri", "timeout"),
    "/rdf-graph-store": ("graph", "default"),
}  # fmt: skip
READING = {
    "/api/complete",
    "/ask",
    "/api/ask/stream",
    "/audit",
    "/check",
    "/constitution",
    "/api/reconcile",
}  # forms that write nothing
BODIES = {
    "/api/ask": ("question", "lang", "method", "k", "evidence", "profile", "context", "history",
    "school", "overlay"),
    "/api/link": ("text", "lang"),
    "/api/ask/replay": ("trace", "answer", "question", "method"), "/api/ask/sparql": ("question",
    "lang"),
}  # fmt: skip


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    with served(tmp_path_factory.mktemp("hostile")) as opened_desks:
        yield opened_desks


def read_in(path: Path) -> set[str]:
    """Return the names of fields that a module of the server reads from queries and forms."""
    results = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            is_read = re.search(
                r"\b(?:args|form|values|files)\.get(?:list)?$", ast.unparse(node.func)
            )
            if is_read and isinstance(node.args[0], ast.Constant):
                results.add(str(node.args[0].value))
    return results


def routes(desks: FullDesks) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the fields of every route without a part in its path: of those one looks at, of forms."""
    app, looks, posts = create_app(desks.site), dict[str, set[str]](), dict[str, set[str]]()
    for rule in app.url_map.iter_rules():
        path = rule.rule.replace("<name>", "nobody")
        if "<" in path:
            continue
        view = app.view_functions[rule.endpoint]
        names = read_in(Path(inspect.getfile(inspect.unwrap(view)))) - {"csrf"}
        if "GET" in (rule.methods or set()):
            looks.setdefault(path, {"lang"}).update(names, READ.get(path, ()))
        if "POST" in (rule.methods or set()) and path not in BODIES:
            posts.setdefault(path, set()).update(names, FORMS.get(path, ()))
    return looks, posts


class Line:
    """A stored connection to the server, as somebody."""

    def __init__(self, desks: FullDesks, who: str = "") -> None:
        self._connection = HTTPConnection(desks.address.removeprefix("http://"), timeout=60)
        jar = desks.visitor(who).cookies if who else ()
        self.cookie = "; ".join(f"{cookie.name}={cookie.value}" for cookie in jar)

    def ask(
        self, method: str, path: str, body: bytes | None = None, kind: str = ""
    ) -> tuple[int, str]:
        headers = {"Accept": "text/html", "Cookie": self.cookie} | (
            {"Content-Type": kind} if kind else {}
        )
        self._connection.request(method, path, body, headers)
        reply = self._connection.getresponse()
        location = reply.getheader("Location", "/") or "/"
        assert not location.startswith("//"), (path, location)
        result = reply.read().decode("utf-8", "replace")
        page = "html" in (reply.getheader("Content-Type") or "")
        return reply.status, result if page else ""  # no browser takes the others for a page

    def close(self) -> None:
        self._connection.close()


def check(status: int, body: str, text: str, place: object) -> None:
    assert status < 500 or status in {501, 503, 504, 507}, (status, place, text[:80])
    if re.search(r"<[a-zA-Z!?/]", text):
        assert text not in body, (place, text)


def state(desks: FullDesks) -> tuple[int, int]:
    assert desks.site.curation
    # what readers report stands in the journal, nothing else may
    return len(list(desks.site.store.match())), desks.site.version()


def test_there_are_more_than_seven_thousand_texts() -> None:
    assert len(texts()) == len(set(texts())) > 7000
    assert len(set(sample(1, 500))) == 500


def test_text_is_same_literal_after_restart(small_kb: Path) -> None:
    place = graph("hostile")
    quads = [Quad(A, P, Literal(text), place) for text in texts() if "\x00" not in text]
    with KnowledgeBase.open(small_kb, write=True) as kb:
        before = len(kb.store)
        kb.writer.write(quads[::2], key="k1", agent="me", reason="hostile")
        hostile = str(quads[5].object.value)  # type: ignore[union-attr] # a literal
        kb.writer.write(quads[1::2], [Quad(A, P, B)], key="k2", agent=hostile, reason="x")
    with KnowledgeBase.open(small_kb, write=True) as kb:
        values = {quad.object for quad in kb.store.match(A, P, None, place)}
        assert values == {quad.object for quad in quads}
        assert len(kb.store) == before + len(quads) + 1  # and the writer's note


def test_every_text_is_bound_into_query_as_itself() -> None:
    store, seen = OxigraphStore.in_memory(), 0
    literals = [Literal(text) for text in texts()]
    store.change([Quad(A, P, each) for each in literals])
    for literal in literals:
        [row] = store.select("SELECT ?s ?o { ?s ?p ?o }", o=literal)
        assert row["o"] == literal
        seen += 1
    assert (seen, len(store)) == (len(texts()), len(texts()))


def test_no_text_becomes_more_than_one_term(writable_kb: KnowledgeBase) -> None:
    refused, some = 0, texts() if NIGHTLY else sample(0, 1500)
    before = len(writable_kb.store)
    for number, text in enumerate(some):
        try:
            writable_kb.writer.write(
                [Quad(NamedNode(f"urn:x:{text}"), P, B, graph("iri"))],
                [Quad(B, P, B)],
                key=f"i{number}",
                agent="me",
                reason="x",
            )
        except (UsageError, ValueError):
            refused += 1
    quads = list(writable_kb.store.match(None, None, None, graph("iri")))
    assert refused > 500
    assert len(quads) == len(some) - refused
    assert len(writable_kb.store) == before + len(quads) + 1


def test_every_name_that_the_server_reads_is_sent(desks: FullDesks) -> None:
    """Names of fields are read from the source, routes from the map; the lists above add to them."""
    looks, posts = routes(desks)
    assert set(looks) >= set(READ)
    assert set(posts) >= set(FORMS) - {"/curate/people/nobody"}
    sent = {"csrf", "v"}.union(*looks.values(), *posts.values(), *BODIES.values())
    read = set().union(*map(read_in, SERVER.rglob("*.py")))
    assert read - sent == {"n"}  # which is a number within a text of Shiyi's
    described = json.loads(Visitor(desks.address).get("/api/openapi.json", "*/*").body)
    paths, schemas = described["paths"], described["components"]["schemas"]
    for path, names in BODIES.items():
        body = paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        model = body["$ref"].rpartition("/")[2]
        assert set(names) >= set(schemas[model]["properties"]), path


def test_indexes_accept_any_text(tmp_path: Path) -> None:
    kb, strange = tmp_path / "kb", [each for each in texts() if not each.isprintable()]
    assert any("\x00" in each for each in strange)
    results = list(
        dict.fromkeys((*strange[:: 1 if NIGHTLY else 5], *sample(3, 300), *CONTROLS, *LETTERS))
    )
    quads = [*bases.kitchen_quads(), *planted(results)]
    build_generation(kb, quads, {"quads": len(quads)})
    for term in (False, True):  # indexes of its own first, then those of the build
        if term:
            index_base(replace(Settings(), kb=kb))
        site = open_site(kb, Settings())
        try:
            client = create_app(site).test_client()
            for text in (
                "枸杞的性味？",
                "许多0能吃吗？",
                "Which foods suit yin deficiency?",
                *results[::40],
            ):
                for path in ("/ask", "/api/ask", "/api/complete"):
                    reply = client.get(path, query_string={"q": text})
                    assert reply.status_code in {200, 400}, (path, text)
                    assert 'class="fault' not in reply.text, (path, text)
            assert client.get("/page/food-many-0").status_code == 200
            assert client.get("/data/food-many-0.ttl").status_code == 200
        finally:
            site.close()


@pytest.mark.parametrize("who", ["", "admin"])
def test_every_parameter_and_segment_takes_any_text(desks: FullDesks, who: str) -> None:
    line, before, asked = Line(desks, who), state(desks), 0
    for at, (path, names) in enumerate(sorted(routes(desks)[0].items())):
        if bool(who) != (path.startswith("/curate") and path not in OPEN):
            continue
        for name in sorted(names):
            for text in (*sample(at, EACH), *BROKEN):
                query = urlencode({name: text}, errors="replace")
                check(*line.ask("GET", f"{path}?{query}"), text, (path, name))
                asked += 1
    for at, path in enumerate(SEGMENTS):
        for text in (*sample(at + 50, EACH), *BROKEN):
            check(*line.ask("GET", path.format(quote(text, safe="", errors="replace"))), text, path)
            asked += 1
    assert asked > 150
    assert state(desks) == before
    line.close()


def test_every_form_accepts_any_text(desks: FullDesks) -> None:
    line, before, asked = Line(desks, "admin"), state(desks), 0
    kind = "application/x-www-form-urlencoded"
    for at, (path, names) in enumerate(sorted(routes(desks)[1].items())):
        for text in sample(at + 7, EACH):
            query = urlencode(dict.fromkeys(names, text) | {"csrf": text}, errors="replace")
            status, body = line.ask("POST", path, query.encode(), kind)
            check(status, body, text, path)
            # the token against forged forms does not fit; what writes nothing needs none
            assert status >= 400 or path in READING, (path, status)
            asked += 1
    for at, (path, keys) in enumerate(BODIES.items()):
        for text in sample(at + 9, EACH):
            for name in keys:
                made = json.dumps({"question": "枸杞", name: text}).encode()
                check(*line.ask("POST", path, made, "application/json"), text, (path, name))
                asked += 1
    for text in sample(11, EACH):
        for name in (field.name for field in fields(Profile)):
            for value in (text, [text], {text: text}):
                made = json.dumps({"question": "枸杞", "profile": {name: value}}).encode()
                check(*line.ask("POST", "/api/ask", made, "application/json"), text, name)
                asked += 1
    assert asked > 100
    assert state(desks) == before
    line.close()


def test_files_of_any_name_are_read_or_refused(desks: FullDesks) -> None:
    line, before = Line(desks, "admin"), state(desks)
    csrf = csrf_in(line.ask("GET", "/curate/account")[1])
    assert csrf
    for at, path in enumerate(("/curate/mappings/import", "/curate/import")):
        for text in sample(at + 77, 5 * EACH):
            body, kind = multipart(csrf, text)
            check(*line.ask("POST", path, body, kind), text, path)
    assert state(desks) == before
    line.close()


def multipart(csrf: str, text: str) -> tuple[bytes, str]:
    """Write a form with files of that name and content, as a program that cares for no rule would."""
    name = text.replace("\r", "").replace("\n", "").replace('"', "%22")
    parts = [f'Content-Disposition: form-data; name="csrf"\r\n\r\n{csrf}']
    parts += [
        f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\n'
        f"Content-Type: text/plain\r\n\r\n{text}"
        for field in ("file", "bundle")
    ]
    content = "".join(f"--edge\r\n{part}\r\n" for part in parts) + "--edge--\r\n"
    return content.encode("utf-8", "replace"), "multipart/form-data; boundary=edge"


def test_hostile_fields_with_valid_token_stay_text(desks: FullDesks) -> None:
    visitor, faults = desks.visitor("admin"), 0
    csrf = csrf_in(visitor.get("/curate/account").body)
    assert csrf
    for at, (path, names) in enumerate(sorted(routes(desks)[1].items())):
        if "account" in path or "sign" in path or not path.startswith("/curate"):
            continue
        for text in (*sample(at + 31, EACH if NIGHTLY else 2), BROKEN[at % len(BROKEN)]):
            for group in (
                names,
                *({name} for name in sorted(names)),
            ):  # all at once, and each alone
                page = visitor.post(path, dict.fromkeys(group, text) | {"csrf": csrf})
                is_page = "html" in page.headers.get("Content-Type", "")
                check(page.status, page.body if is_page else "", text, (path, group))
                faults += page.status >= 400
    assert faults > 20
    line = Line(desks)
    assert line.ask("GET", "/healthz")[0] == 200
    line.close()
