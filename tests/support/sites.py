"""A small real store, and a web face over it, for the server's tests."""

import json
import re
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from html import unescape
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.error import HTTPError
from urllib.parse import urlencode

from flask import Flask
from flask.testing import FlaskClient

from shiyi.answering.pipeline import AskRequest
from shiyi.curation import accounts
from shiyi.curation.accounts import AccountStore, Role
from shiyi.errors import OutsideError
from shiyi.model.answer import (
    Answer,
    Citation,
    CitedEvidence,
    Labelled,
    Mention,
    Recommendation,
    SafetyWarning,
    Sentence,
    Trace,
)
from shiyi.model.claim import (
    Claim,
    Confidence,
    Evidence,
    EvidenceKind,
    Polarity,
    Source,
    Status,
    Tier,
)
from shiyi.model.iris import VOCAB, graph, resource
from shiyi.model.path import Hop
from shiyi.model.path import Path as ReasoningPath
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS
from shiyi.server.app import create_app
from shiyi.server.site.counts import count_base
from shiyi.server.site.curation import Curation
from shiyi.server.site.opening import open_site, open_write_access
from shiyi.server.site.site import PooledQueries, Site, Suggestion
from shiyi.server.site.tokens import FILE, Tokens
from shiyi.settings import QuerySettings, Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.sandbox.pool import QueryPool
from shiyi.sparql.store.files import verify_checksum
from shiyi.sparql.updates.update import Author
from tests.support import bases
from tests.support.bases import build
from tests.support.copies import copy_base
from tests.support.processes import running

PASSWORD = "correct horse battery"  # noqa: S105 - of test accounts
HTML = {"Accept": "text/html"}


_hash_once = cache(accounts.hash_password)


def add_people(people: AccountStore, roles: Mapping[str, Role]) -> None:
    """Make accounts that share a password, which is slow to hash and so is hashed once."""
    with patch.object(accounts, "hash_password", _hash_once):
        for name, role in roles.items():
            people.add(name, role, PASSWORD)


@dataclass(frozen=True)
class Desks:
    """An open server and ways to ask it as somebody."""

    app: Flask
    kb: Path
    tokens: dict[str, str]

    @property
    def site(self) -> Site:
        found: Site = self.app.extensions["shiyi"]
        return found

    @property
    def curation(self) -> Curation:
        assert self.site.curation
        return self.site.curation

    def cookie(self, name: str, csrf: str = "token") -> str:
        """Sign a session as the server would after a sign-in."""
        person = self.curation.people.get(name)
        import time

        values = {"who": name, "epoch": person.epoch, "since": int(time.time()), "csrf": csrf}
        interface: Any = self.app.session_interface
        return f"shiyi_session={interface.get_signing_serializer(self.app).dumps(values)}"

    def client(self, name: str = "") -> FlaskClient:
        """Return a client, signed in where a name is given."""
        client = self.app.test_client()
        if name:
            self.sign_in(client, name)
        return client

    def sign_in(self, client: FlaskClient, name: str, **more: str) -> Any:
        form = client.get("/curate/sign-in", headers=HTML)
        body = {"name": name, "password": PASSWORD, "csrf": token_of(form.text), **more}
        return client.post("/curate/sign-in", data=body, headers=HTML)


def token_of(page: str) -> str:
    """Read the token against forged forms from a page."""
    match = re.search(r'name="csrf" value="([^"]+)"', page)
    assert match, page[:500]
    return match[1]


def _spent(kb: Path, tokens: Tokens) -> dict[str, str]:
    """Make tokens of either scope that were revoked, or have expired."""
    results = {
        f"{end} {scope}": tokens.add(f"{end}-{scope}", scope, 1, person)
        for end in ("revoked", "expired")
        for scope, person in (("write", ""), ("review", Role.CURATOR))
    }
    for scope in ("write", "review"):
        tokens.revoke(f"revoked-{scope}")
    reply = json.loads(verify_checksum((kb / FILE).read_bytes(), kb / FILE))
    for item in reply:
        if item["name"].startswith("expired"):
            item["expires"] = "2020-01-01T00:00:00+00:00"
    (kb / FILE).write_text(json.dumps(reply), "utf-8")
    return results


@contextmanager
def open_desks(folder: Path, settings: Settings | None = None) -> Iterator[Desks]:
    """Open the server; people are called after their roles."""
    kb = build(folder / "kb")
    people, tokens = AccountStore(kb), Tokens(kb)
    add_people(people, {role: role for role in (Role.ADMINISTRATOR, *Role)})
    first = people.get(Role.ADMINISTRATOR)
    known = {
        "write": tokens.add("writer", "write", 1),
        "review": tokens.add("reviewer", "review", 1, Role.CURATOR),
        "review-admin": tokens.add("high", "review", 1, first.name),
        "review-reader": tokens.add("low", "review", 1, Role.READER),
        "unknown": "shiyi_" + "x" * 43,
        **_spent(kb, tokens),
    }
    app = create_app(kb, settings)
    try:
        yield Desks(app, kb, known)
    finally:
        app.extensions["shiyi"].close()


PEOPLE = {
    "reader": Role.READER,
    "cont": Role.CONTRIBUTOR,
    "cura": Role.CURATOR,
    "second": Role.CURATOR,
    "chief": Role.EDITOR,
    "admin": Role.ADMINISTRATOR,
}


@dataclass(frozen=True, slots=True)
class FullDesks:
    """A running server and the site behind it."""

    address: str
    site: Site

    def changes(self) -> int:
        """Count the changes of people; inference goes on in the background."""
        base = self.site.base
        assert base is not None
        return sum(record.who != "shiyi" for record in base.writer.journal.records())

    def visitor(self, name: str = "") -> "Visitor":
        """Open a browser without scripts; signed in where a name is given."""
        made = Visitor(self.address)
        if name:
            page = made.get("/curate/sign-in")
            form = {
                "csrf": csrf_in(page.body),
                "name": name,
                "password": PASSWORD,
                "next": "/curate/account",
            }
            assert made.post("/curate/sign-in", form).status == 200, name
        return made


@dataclass(frozen=True, slots=True)
class Page:
    """What came back, after redirections."""

    status: int
    body: str
    address: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Visitor:
    """One person's browser: cookies, forms, no scripts."""

    def __init__(self, address: str) -> None:
        self.address, self.cookies = address, CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str, accept: str = "text/html") -> Page:
        return self._open(urllib.request.Request(self.address + path, headers={"Accept": accept}))  # noqa: S310 - our own server

    def post(self, path: str, form: Mapping[str, str], **headers: str) -> Page:
        sent = urlencode(form).encode()
        values = {"Accept": "text/html", **headers}
        return self._open(urllib.request.Request(self.address + path, sent, values))  # noqa: S310 - our own server

    def submit(self, page: Page, path: str, **changed: str) -> Page:
        """Send a page's form for ``path`` back with some fields changed."""
        return self.post(path, fields_in(page.body, path) | changed)

    def _open(self, asked: urllib.request.Request) -> Page:
        try:
            with self._opener.open(asked, timeout=60) as reply:
                return Page(reply.status, reply.read().decode(), reply.url, dict(reply.headers))
        except HTTPError as fault:
            with fault:
                return Page(fault.code, fault.read().decode(), fault.url, dict(fault.headers))


def csrf_in(body: str) -> str:
    match = re.search(r'name="csrf" value="([^"]+)"', body)
    return match[1] if match else ""


def fields_in(body: str, path: str) -> dict[str, str]:
    """Read what the form that goes to ``path`` would send if nothing were changed."""
    forms = re.findall(r"<form\b[^>]*>.*?</form>", body, re.DOTALL)
    heads = [(item, item.partition(">")[0]) for item in forms]
    form = next(e for e, head in heads if f'action="{path}"' in head and 'method="post"' in head)
    results: dict[str, str] = {}
    for tag in re.findall(r"<input\b[^>]*>", form):
        kind, name = _attribute(tag, "type"), _attribute(tag, "name")
        if (name and kind not in {"radio", "checkbox", "file"}) or " checked" in tag:
            results[name] = _attribute(tag, "value")
    for name, text in re.findall(
        r'<textarea\b[^>]*\bname="([^"]+)"[^>]*>(.*?)</textarea>', form, re.DOTALL
    ):
        results[name] = unescape(text)
    for name, inside in re.findall(
        r'<select\b[^>]*\bname="([^"]+)"[^>]*>(.*?)</select>', form, re.DOTALL
    ):
        options = re.findall(r"<option\b[^>]*>", inside)
        chosen = [option for option in options if " selected" in option] or options[:1]
        results[name] = _attribute(chosen[0], "value") if chosen else ""
    return results


def _attribute(tag: str, name: str) -> str:
    match = re.search(rf'\b{name}="([^"]*)"', tag)
    return unescape(match[1]) if match else ""


@contextmanager
def served(folder: Path, extra: Iterable[Quad] = (), **settings: Any) -> Iterator[FullDesks]:
    """Serve the kitchen's base, writable, with an account of every role."""
    kb = folder / "kb"
    quads = [*bases.kitchen_quads(), *extra]
    build_generation(kb, quads, {"quads": len(quads)})
    add_people(AccountStore(kb), PEOPLE)
    with serving(kb, **settings) as desks:
        yield desks


@contextmanager
def serving(kb: Path, **settings: Any) -> Iterator[FullDesks]:
    """Serve a base that stands."""
    site = open_site(kb, replace(Settings(), kb=kb, **settings))
    try:
        with running(create_app(site)) as address:
            yield FullDesks(address, site)
    finally:
        site.close()


GOJI, WARFARIN, YIN = (resource(n) for n in ("substance-goji", "drug-warfarin", "constitution-yin"))
HOSTILE = resource("substance-hostile")
BOOK = Source("book", "中药学", "Materia Medica", Tier.TEXTBOOK, "2020", "doi:10.1000/x")
CASE = Source("case", "病例报告", "Case report", Tier.CASE_REPORT)
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def claim(subject: NamedNode, predicate: NamedNode, thing: NamedNode, **more: object) -> Claim:
    evidence = Evidence(
        BOOK,
        Confidence(0.8),
        "枸杞子条",
        EvidenceKind.ROW,
        qualifiers=(("note_en", "Watch the INR."), ("note_zh", "留意INR。")),
    )
    made = Claim(subject, predicate, thing, (evidence,))
    return replace(made, **more)  # type: ignore[arg-type] # the test names real fields


INTERACTION = claim(GOJI, SHIYI.interactsWith, WARFARIN)
SUITABLE = claim(YIN, SHIYI.suitableFood, GOJI)
DENIED = claim(GOJI, SHIYI.contraindicatedIn, YIN, polarity=Polarity.NEGATIVE)
RETRACTED = claim(GOJI, SHIYI.fears, WARFARIN, status=Status.RETRACTED)
DERIVED = claim(HOSTILE, SHIYI.derivedCaution, YIN)


def quads() -> list[Quad]:
    made_quads = [quad for source in (BOOK, CASE) for quad in source_quads(source)]
    for node, kind, zh, en in (
        (GOJI, SHIYI.MFHSubstance, "枸杞子", "goji berry"),
        (WARFARIN, SHIYI.Drug, "华法林", "warfarin"),
        (YIN, SHIYI.Constitution, "阴虚质", "yin deficiency"),
        (HOSTILE, SHIYI.Food, SCRIPT, SCRIPT),
    ):
        made_quads += [
            Quad(node, RDF.type, SKOS.Concept),
            Quad(node, RDF.type, kind),
            Quad(node, SKOS.prefLabel, Literal(zh, language="zh")),
            Quad(node, SKOS.prefLabel, Literal(en, language="en")),
        ]
    made_quads.append(Quad(HOSTILE, SKOS.exactMatch, NamedNode("javascript:alert(1)")))
    made_quads.append(Quad(HOSTILE, SHIYI.latinName, Literal(SCRIPT)))
    for term, zh, en in (
        (SHIYI.interactsWith, "相互作用", "interacts with"),
        (SHIYI.suitableFood, "适宜食物", "suitable food"),
    ):
        made_quads += [
            Quad(term, RDFS.label, Literal(zh, language="zh")),
            Quad(term, RDFS.label, Literal(en, language="en")),
            Quad(term, SKOS.definition, Literal(f"What {en} means.", language="en")),
            Quad(term, RDFS.isDefinedBy, NamedNode(VOCAB.rstrip("#"))),
        ]
    for each in (INTERACTION, SUITABLE, DENIED):
        made_quads += claim_quads(each)
    made_quads += claim_quads(RETRACTED, graph("quarantine"))
    made_quads += claim_quads(DERIVED, graph("derived"))
    made_quads.append(Quad(DERIVED.iri, SHIYI.derivedBy, resource("rule-x"), graph("derived")))
    return made_quads


def answer(question: str, language: str = "en", method: str = "fused") -> Answer:
    """An answer with one of everything, made by hand."""
    citation = Citation(
        1,
        INTERACTION.iri.value,
        Labelled(GOJI.value, "goji berry", "C1"),
        Labelled(SHIYI.interactsWith.value, "interacts with"),
        Labelled(WARFARIN.value, "warfarin"),
        "positive",
        0.8,
        "accepted",
        (CitedEvidence("Materia Medica", "textbook", year="2020", kind="read"),),
    )
    hop = Hop(YIN.value, SHIYI.suitableFood.value, GOJI.value, SUITABLE.iri.value, 0.8)
    return Answer(
        question,
        language,
        method,
        "sha256:test",
        (Sentence("Be careful.", (citation.claim,)),),
        f"Be **careful** [1][9]. {SCRIPT} [x](javascript:alert(3))",
        (citation,),
        (ReasoningPath((hop,), 0.5),),
        (Mention("goji", 0, 4, GOJI.value, "枸杞子", "goji berry", "C1", "MFHSubstance", 1.0),),
        (Recommendation(GOJI.value, "goji berry", "food", (SUITABLE.iri.value,)),),
        (SafetyWarning("interaction", "May raise the INR.", (citation.claim,)),),
        ("Do you feel cold or hot?",),
        trace=Trace(("SELECT * {}",), milliseconds=(("link", 1.0),)),
    )


def ask(request: AskRequest) -> Answer:
    if request.question == "outside":
        raise OutsideError("the model endpoint does not answer")
    return answer(request.question, request.language or "en", request.method)


def link(text: str, guess: bool = True) -> Sequence[Mention]:
    start = text.find("goji")
    if start < 0:
        return ()
    return (Mention("goji", start, start + 4, GOJI.value, "枸杞子", "goji berry", "C1", "", 1.0),)


def complete(words: str, language: str, limit: int) -> Sequence[Suggestion]:
    label = "枸杞子" if language == "zh" else "goji berry"
    suggestion = Suggestion(GOJI.value, label, "枸杞子", "goji berry", "MFHSubstance", "goji")
    return [suggestion][:limit] if "goji".startswith(words) else []


def open_test_site(folder: Path) -> Site:
    """A site over a base built in ``folder``; close it after use."""
    build_generation(folder / "kb", quads(), {"quads": len(quads())})
    base = KnowledgeBase.open(folder / "kb")
    pool = QueryPool(base, QuerySettings(workers=1, rows=1000))

    def close() -> None:
        pool.close()
        base.close()

    return Site(
        base.store,
        ask,
        link,
        complete,
        PooledQueries(pool),
        base.release,
        ("fused", "paths"),
        "2026",
        count_base(base.store),
        Settings(),
        close,
    )


@contextmanager
def writable_site(folder: Path, filled: bool = False) -> Iterator[tuple[Site, str]]:
    """A site over a fresh base that takes writes, and a token for it."""
    build_generation(folder / "kb", quads() if filled else [], {})
    tokens = Tokens(folder / "kb")
    secret = tokens.add("tester", "maintain", 1)
    settings = Settings()
    settings = replace(settings, query=QuerySettings(workers=1, timeout=10))
    with (
        KnowledgeBase.open(folder / "kb", write=True) as base,
        QueryPool(base, settings.query) as pool,
    ):
        writing = open_write_access(base, pool, settings, tokens)
        yield (
            Site(
                base.store,
                ask,
                link,
                complete,
                PooledQueries(pool),
                base.release,
                ("fused", "paths"),
                "2026",
                count_base(base.store),
                settings,
                lambda: None,
                lambda: base.sequence,
                writing,
            ),
            secret,
        )
        assert writing.updater
        writing.updater.close()


@contextmanager
def endpoint(folder: Path, filled: Path | None = None) -> Iterator[tuple[str, str]]:
    """The address of our server over an empty base, and a token that may write to it.

    Or the whole server over a copy of a ``filled`` one, which it empties first; this takes minutes.
    """
    if filled is None:
        with writable_site(folder) as (site, secret), running(create_app(site)) as address:
            yield address, secret
        return
    kb = folder / "kb"
    copy_base(filled, kb)
    secret = Tokens(kb).add("tester", "maintain", 1)
    limits = replace(Settings().query, timeout=600.0, timeout_cap=600.0)
    app = create_app(kb, replace(Settings(), kb=kb, query=limits))
    whole: Site = app.extensions["shiyi"]
    try:
        assert whole.writing
        assert whole.writing.updater
        whole.writing.updater.update("DROP ALL", Author("empty", "tester", "an empty base"))
        with running(app) as address:
            yield address, secret
    finally:
        whole.close()
