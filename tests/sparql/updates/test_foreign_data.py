"""Well-formed RDF of any kind is accepted, and the base is served and opened afterwards."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.retrieval.casebook import Casebook
from shiyi.answering.retrieval.passages import units
from shiyi.answering.runtime import Runtime, write_indexes
from shiyi.cli import main
from shiyi.curation.changes import state_of
from shiyi.curation.editing.claims import load_claim
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Queue
from shiyi.curation.reviews import read_reviewed_claim
from shiyi.errors import UsageError
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import text
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF
from shiyi.reasoning.adjacency import Projection
from shiyi.server.app import create_app
from shiyi.server.site.tokens import Tokens
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.port import match_own
from tests.support.bases import kitchen_quads
from tests.tables import cases

LILY = f"<{ID}substance-lily>"
COLD = f"<{ID}symptom-cold-limbs>"
CLAIM = f"rdf:reifies <<( {LILY} shiyi:relieves {COLD} )>>"
ACCEPTED = f"{CLAIM} ; shiyi:status shiyi:accepted ; shiyi:polarity shiyi:positive"
NESTED = ACCEPTED.replace("<<( ", "<<( <urn:s> <urn:p> <<( ").replace(" )>>", " )>> )>>")
BODIES = tuple(
    body.replace("ACCEPTED", ACCEPTED).replace("NESTED", NESTED).replace("<ID/", f"<{ID}")
    for (body,) in cases("sparql", "foreign_bodies")
)
PREFIXES = f"""PREFIX shiyi: <{VOCAB}> PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX sh: <http://www.w3.org/ns/shacl#> PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX dcterms: <http://purl.org/dc/terms/> PREFIX id: <{ID}>
"""
QUESTION = "Can I drink ginger tea while taking warfarin?"
PAGES = (
    "/page/substance-ginger",
    "/page/drug-warfarin",
    *(f"/page/claim/{name}" for name in ("huge", "vague", "odd", "two", "text")),
    f"/sparql?query=DESCRIBE%20<{ID}claim/vague>",
    "/timeline/substance-lily",
    "/page/odd",
    "/page/evidence/odd",
    "/explore",
    "/api/ask?q=ginger",
    "/.well-known/void",
)
_NAMES = count()


@contextmanager
def client_of(kb: Path) -> Iterator[Any]:
    app = create_app(kb, replace(Settings(), kb=kb))
    try:
        yield app.test_client()
    finally:
        app.extensions["shiyi"].close()


def check_pages(client: Any, whole: bool) -> None:
    """Look at some pages; at the ``whole`` of those whose address has no parts to fill in."""
    rules = [rule for rule in client.application.url_map.iter_rules() if "GET" in rule.methods]
    others = [rule.rule for rule in rules if not rule.arguments]
    assert len(others) > 40
    for page in (*PAGES, *(others if whole else ())):
        reply = client.get(page, headers={"Accept": "text/html"})
        assert reply.status_code < 500, (page, reply.text)


def advice(client: Any) -> object:
    """Return what an answer about ginger and warfarin says, without times."""
    reply = client.post("/api/ask", json={"question": QUESTION, "lang": "en"})
    assert reply.status_code == 200, reply.text
    answer = reply.get_json()
    assert answer["warnings"]
    return answer["answer"], answer["warnings"], answer["citations"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "kb"
    quads = list(kitchen_quads())
    build_generation(folder, quads, {"quads": len(quads)})
    with KnowledgeBase.open(folder) as base:
        write_indexes(base, Settings())
    return folder


@pytest.fixture(scope="module")
def tokens(kb: Path) -> dict[str, dict[str, str]]:
    return {
        scope: {"Authorization": f"Bearer {Tokens(kb).add(scope, scope, 1)}"}
        for scope in ("write", "maintain")
    }


def test_foreign_data_is_accepted_and_base_opens_again(
    kb: Path, tokens: dict[str, dict[str, str]], caplog: pytest.LogCaptureFixture
) -> None:
    with client_of(kb) as client:
        before = advice(client)
    for first in range(0, len(BODIES), 16):
        with client_of(kb) as client:
            assert advice(client) == before
            for body in BODIES[first : first + 16]:
                turtle = {"data": PREFIXES + body, "content_type": "text/turtle"}
                own = f"/rdf-graph-store?graph=urn:g{next(_NAMES)}"
                into = [
                    client.put(own, headers=tokens["write"], **turtle),
                    client.post(own, headers=tokens["write"], **turtle),
                    client.post("/rdf-graph-store?default", headers=tokens["maintain"], **turtle),
                ]
                for graph, scope in (("GRAPH <urn:h>", "write"), ("", "maintain")):
                    text = f"{PREFIXES} INSERT DATA {{ {graph} {{ {body} }} }}"
                    text = text if graph else f"{PREFIXES} INSERT DATA {{ {body} }}"
                    into.append(
                        client.post("/sparql", data={"update": text}, headers=tokens[scope])
                    )
                assert [item.status_code for item in into] == [201, 204, 204, 204, 204], body
            check_pages(client, whole=first > 0)
            assert advice(client) == before
    assert "is written, but" not in caplog.text


def test_readers_of_base_take_what_they_own_alone(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        facts = Runtime.open(base, Settings()).facts
        read = Facts.read(base.store, Schema.load())
        assert set(facts.by_claim) == set(read.by_claim)
        for named in (read.by_claim, facts.by_claim, read.labels, read.classes, read.broader):
            assert not [each for each in named if not each.startswith(ID)]
        assert all(0.0 <= f.confidence <= 1.0 for own in read.by_claim.values() for f in own)
        claims = Projection.from_store(base.store, "").claims
        assert claims
        assert all(claim.startswith(ID) for claim in claims)
        casebook = Casebook.read(base.store)
        assert not casebook.cases
        assert not casebook.chains
        assert not [unit for unit in units(base.store, read) if not unit.iri.startswith(ID)]


def test_curation_reads_or_refuses_claims_of_others(kb: Path) -> None:
    reasons = set[str]()
    with KnowledgeBase.open(kb) as base:
        every = {text(quad.subject) for quad in match_own(base.store, None, RDF.reifies)}
        for iri in every:
            load_claim(base.store, iri)
            try:
                read_reviewed_claim(state_of(base.store, iri), iri)
            except UsageError as refused:
                reasons.add(str(refused))
        assert len(Queue(base.store, Opinions(base.store)))
    assert len(reasons) >= 4


def test_doctor_counts_claims_that_are_passed_over(
    kb: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--kb", str(kb), "doctor", "--json"])
    unread = json.loads(capsys.readouterr().out)["base"]["unread_claims"]
    assert unread["not named by the base"] >= 6
    assert unread["without a confidence from 0 to 1"] == 4
    assert unread["without a statement"] == 1
    main(["--kb", str(kb), "doctor"])
    assert "1 accepted claims are passed over: without a statement" in capsys.readouterr().out


_NODES = ("id:odd", "id:claim\\/odd", "id:evidence\\/odd", "<urn:n>", "<urn:m>", "_:b", "[]")
_PREDICATES = tuple(
    """rdf:type rdfs:label rdfs:subClassOf rdfs:comment rdf:value rdf:first owl:deprecated skos:prefLabel
    skos:altLabel skos:broader skos:exactMatch skos:definition skos:notation prov:wasDerivedFrom
    dcterms:source dcterms:license dcterms:subject dcterms:isReplacedBy dcterms:title shiyi:status
    shiyi:polarity shiyi:confidence shiyi:evidence shiyi:umlsCui shiyi:belongsToSchool shiyi:quote
    shiyi:mentionedIn shiyi:recordedIn shiyi:hasStep shiyi:pageRank shiyi:conflictsWith shiyi:noteText
    shiyi:sourceTier shiyi:checked shiyi:relieves shiyi:interactsWith shiyi:lineage <urn:p>""".split()  # noqa: SIM905
)
_TERMS = tuple(
    """shiyi:Food shiyi:Dish shiyi:Claim shiyi:Evidence shiyi:Passage shiyi:PatientCase shiyi:Source
    shiyi:ReasoningChain shiyi:QuestionAnswer shiyi:Constitution owl:Restriction skos:Concept sh:NodeShape
    shiyi:accepted shiyi:candidate shiyi:retracted shiyi:negative shiyi:positive true 1 -1 0.5 1e308
    'NaN'^^xsd:double 'much'^^xsd:decimal '2020-13-45'^^xsd:date '' 'odd' 'odd'@en 'odd'@zh-Hant
    'odd'@ar--rtl 'restricted' '\\uFFFD' 'C1234567'""".split()  # noqa: SIM905
)


def _triple(object_: str) -> str:
    return f"<<( id:odd shiyi:interactsWith {object_} )>>"


_SIMPLE = st.sampled_from(("id:odd", "<urn:n>", "_:b", "1", "'odd'@en"))
_OBJECTS = st.one_of(
    st.sampled_from((*_NODES, *_TERMS, "( 1 [] )")),
    st.recursive(_SIMPLE.map(_triple), lambda inner: inner.map(_triple), max_leaves=3),
)
_STATEMENTS = st.one_of(
    st.builds("{} {} {} .".format, st.sampled_from(_NODES), st.sampled_from(_PREDICATES), _OBJECTS),
    st.builds("{} rdf:reifies {} .".format, st.sampled_from(_NODES), _OBJECTS),
    st.builds(
        "<urn:n> {} 1 {{| {} {} |}} .".format,
        st.sampled_from(_PREDICATES),
        st.sampled_from(_PREDICATES),
        _OBJECTS,
    ),
)
_UPDATES = st.tuples(st.booleans(), st.lists(_STATEMENTS, min_size=1, max_size=4).map(" ".join))


@settings(
    # of 100 updates, then it is opened again
    max_examples=int(os.environ.get("SHIYI_UPDATES", "2")),
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),  # a base that broke stays broken, so nothing is shrunk
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(_UPDATES, min_size=100, max_size=100))
def test_no_generated_update_breaks_the_base(
    kb: Path, tokens: dict[str, dict[str, str]], updates: list[tuple[bool, str]]
) -> None:
    with client_of(kb) as client:
        before = advice(client)
        for own, body in updates:
            text = f"{{ GRAPH <urn:own> {{ {body} }} }}" if own else f"{{ {body} }}"
            headers = tokens["write" if own else "maintain"]
            data = {"update": f"{PREFIXES} INSERT DATA {text}"}
            reply = client.post("/sparql", data=data, headers=headers)
            assert reply.status_code == 204, (body, reply.text)
        check_pages(client, whole="SHIYI_UPDATES" in os.environ)
        assert advice(client) == before
    with client_of(kb) as client:
        assert advice(client) == before
