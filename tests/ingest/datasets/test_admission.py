"""What a source's policy lets in: accepted at once, and never against experts or on a model's word."""

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import ConformanceError
from shiyi.ingest.datasets.dataset import AdmissionPolicy, read_dataset
from shiyi.ingest.gate import CANDIDATES, ProposedClaim
from shiyi.ingest.retraction import forget
from shiyi.ingest.tables.concepts import concept_quads, read_concepts
from shiyi.ingest.tables.starter import vocabulary_quads
from shiyi.ingest.tables.tsv import Faults
from shiyi.model.claim import Claim, Confidence, Evidence, Polarity, Source, Status, Tier, claim_iri
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, Quad, text
from shiyi.ontology.schema import Schema
from shiyi.ontology.serialization import claim_quads, source_quads
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.queries.named import quality_faults
from shiyi.sparql.store.port import QuadStore
from tests.ingest.test_run import CHILD
from tests.support.copies import copy_base

DEFAULT = DefaultGraph()
SOURCE = """
@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dcterms: <http://purl.org/dc/terms/> .
@prefix shiyi: <https://w3id.org/shiyi/vocab#> . @prefix id: <https://w3id.org/shiyi/id/> .
id:dataset-hospital a dcat:Dataset ; dcterms:title "院内膳食表"@zh , "Hospital diet table"@en ;
  dcterms:license "CC0-1.0" ; dcat:version "1" ; shiyi:sourceTier id:tier-standard ;
  shiyi:lineage "hospital" POLICY .
"""
MAPPING = """
[[tables]]
file = "diet.csv"
key = "n"
columns = ["n", "food", "relation", "said"]
"""
RULE = """
[[tables.claims]]
where = {{ relation = "{0}" }}
subject = "food"
subject_kinds = ["MFHSubstance", "Herb", "Food"]
predicate = "{0}"
object = "said"
object_kinds = [{1}]
"""
RULES = (
    ("hasNature", '"Nature"'),
    ("contraindicatedIn", '"Population", "Symptom", "Disease"'),
    ("indicatedFor", '"Symptom"'),
)
ROWS = ("1,山楂,hasNature,寒", "2,山楂,contraindicatedIn,孕妇", "3,芡实,indicatedFor,失眠")
OWN = "微温"  # the nature that the base holds
Ingest = Callable[..., dict[str, Any]]


def source(folder: Path, policy: str) -> Path:
    folder.mkdir(exist_ok=True)
    content = f"; shiyi:statusOnEntry {policy}" if policy else ""
    (folder / "source.ttl").write_text(SOURCE.replace("POLICY", content), "utf-8")
    (folder / "mapping.toml").write_text(MAPPING + "".join(RULE.format(*rule) for rule in RULES))
    return folder


def write(folder: Path, *rows: str) -> Path:
    (folder / "diet.csv").write_text("\n".join(["n,food,relation,said", *rows]) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base of all concepts in which a book says that hawthorn is slightly warm."""
    kb = tmp_path_factory.mktemp("policy") / "kb"
    concepts = read_concepts(artefact("ontology/concepts"), Schema.load(), Faults())
    quads = [*vocabulary_quads()]
    for each in concepts.by_id.values():
        broader = [id for id in each.broader if id in concepts.by_id]
        quads += concept_quads(each, broader, "")
    named = {each.zh: each.iri for each in concepts.by_id.values()}
    book = Source("book", "书", "Book", Tier.TEXTBOOK)
    result = Claim(named["山楂"], SHIYI.hasNature, named[OWN], (Evidence(book, Confidence(0.8)),))
    quads += [*source_quads(book), *claim_quads(result)]
    build_generation(kb, quads, {})
    return kb


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    return copy_base(built, tmp_path / "kb")


@pytest.fixture
def ingest(kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ingest:
    def run(policy: str, *rows: str, into: Path = kb) -> dict[str, Any]:
        folder = write(source(tmp_path / "hospital", policy), *rows)
        words = ("ingest", "table", str(folder), "--mapping", str(folder / "mapping.toml"))
        assert main(["--kb", str(into), *words, "--json"]) == 0
        [report] = json.loads(capsys.readouterr().out)
        return dict(report)

    return run


def stored(kb: Path) -> set[Quad]:
    with KnowledgeBase.open(kb) as base:
        return set(base.store.match(graph=DEFAULT)) | set(base.store.match(graph=CANDIDATES))


def statuses(store: QuadStore, iri: NamedNode) -> dict[str, str]:
    return {
        str(quad.graph_name): text(quad.object).rpartition("#")[2]
        for quad in store.match(iri, SHIYI.status)
    }


def concept(base: KnowledgeBase, name: str) -> NamedNode:
    rows = base.store.select(
        "SELECT ?s WHERE { ?s <http://www.w3.org/2004/02/skos/core#prefLabel> ?name }"
        f' VALUES ?name {{ "{name}"@zh }}'
    )
    [node] = {row["s"] for row in rows if isinstance(row["s"], NamedNode)}
    return node


def test_claims_without_policy_wait_as_candidates(
    kb: Path, ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    before = stored(kb)
    report = ingest("", *ROWS)
    assert sum(report["claims"].values()) == 3
    assert report["asserted"] == {}
    with KnowledgeBase.open(kb) as base:
        assert set(base.store.match(graph=DEFAULT)) == {
            q for q in before if q.graph_name == DEFAULT
        }
    of_it = ("--source", resource("source-hospital").value, "--status", "candidate")
    assert main(["--kb", str(kb), "review", "queue", *of_it, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 3


def test_source_accepted_by_policy_is_in_next_answer(
    kb: Path, ingest: Ingest, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--kb", str(kb), "index", "--json"]) == 0
    capsys.readouterr()
    ingest("shiyi:accepted", "1,山楂,contraindicatedIn,失眠")
    assert main(["--kb", str(kb), "ask", "失眠的人能吃山楂吗？", "--json"]) == 0
    output = json.loads(capsys.readouterr().out)
    assert "院内膳食表" in json.dumps(output["citations"], ensure_ascii=False)


def test_what_policy_accepts_asserted_whole_and_conflicts_linked(kb: Path, ingest: Ingest) -> None:
    report = ingest("shiyi:accepted", *ROWS)
    assert report["asserted"] == {"hasNature": 1, "contraindicatedIn": 1, "indicatedFor": 1}
    assert report["claims"] == {"hasNature": 0, "contraindicatedIn": 0, "indicatedFor": 0}
    with KnowledgeBase.open(kb) as base:
        store, hawthorn = base.store, concept(base, "山楂")
        nature = claim_iri(hawthorn, SHIYI.hasNature, concept(base, "寒"), Polarity.POSITIVE)
        assert statuses(store, nature) == {"DEFAULT": "accepted"}
        assert any(store.match(hawthorn, SHIYI.hasNature, concept(base, "寒"), DEFAULT))
        assert any(store.match(nature, SHIYI.conflictsWith, None, DEFAULT))  # 微温 stays beside it
        assert list(quality_faults(store)) == []
        [policy] = store.match(None, SHIYI.statusOnEntry)
        assert policy.object == SHIYI.accepted


def test_second_read_changes_nothing_and_forget_restores(kb: Path, ingest: Ingest) -> None:
    before = stored(kb)
    ingest("shiyi:accepted", *ROWS)
    once = stored(kb)
    assert once > before
    ingest("shiyi:accepted", *ROWS)
    assert stored(kb) == once
    with KnowledgeBase.open(kb, write=True) as base:
        gone = forget(base.writer, "hospital")
    assert gone["asserted"] == gone["claims"] == 3
    assert stored(kb) == before


def test_what_file_says_no_longer_leaves_accepted_view(kb: Path, ingest: Ingest) -> None:
    ingest("shiyi:accepted", *ROWS[:1])
    less = stored(kb)
    ingest("shiyi:accepted", *ROWS)
    assert stored(kb) > less
    report = ingest("shiyi:accepted", *ROWS[:1])
    assert report["taken_back"]["claims"] == 2
    assert stored(kb) == less


def test_claim_of_other_source_gains_evidence(kb: Path, ingest: Ingest) -> None:
    with KnowledgeBase.open(kb) as base:
        hawthorn = concept(base, "山楂")
        own = concept(base, OWN)
        node = claim_iri(hawthorn, SHIYI.hasNature, own, Polarity.POSITIVE)
        evidence = {q.object for q in base.store.match(node, SHIYI.evidence, None, DEFAULT)}
        sure = [q.object for q in base.store.match(node, SHIYI.confidence, None, DEFAULT)]
    ingest("shiyi:accepted", f"1,山楂,hasNature,{OWN}")
    with KnowledgeBase.open(kb, write=True) as base:
        store = base.store
        assert len({q.object for q in store.match(node, SHIYI.evidence, None, DEFAULT)}) == 1 + len(
            evidence
        )
        [more] = store.match(node, SHIYI.confidence, None, DEFAULT)
        assert float(text(more.object)) > float(text(sure[0]))
        forget(base.writer, "hospital")
        assert {q.object for q in store.match(node, SHIYI.evidence, None, DEFAULT)} == evidence
        assert [q.object for q in store.match(node, SHIYI.confidence, None, DEFAULT)] == sure
        assert any(store.match(hawthorn, SHIYI.hasNature, own, DEFAULT))


def test_what_expert_rejected_is_not_asserted_by_policy(kb: Path, ingest: Ingest) -> None:
    ingest("", *ROWS)
    with KnowledgeBase.open(kb, write=True) as base:
        nature = claim_iri(
            concept(base, "山楂"), SHIYI.hasNature, concept(base, "寒"), Polarity.POSITIVE
        )
        Decisions(Changes(base.writer)).review(nature.value, ReviewDecision("reject", "li", "微温"))
    report = ingest("shiyi:accepted", *ROWS)
    assert report["asserted"] == {"contraindicatedIn": 1, "indicatedFor": 1}
    assert report["held_back"] == {"an expert has decided": 1}
    with KnowledgeBase.open(kb) as base:
        assert not any(
            base.store.match(concept(base, "山楂"), SHIYI.hasNature, concept(base, "寒"), DEFAULT)
        )


def test_policy_alone_asserts_no_model_or_unknown_concept(kb: Path, tmp_path: Path) -> None:
    dataset = read_dataset(source(tmp_path / "hospital", "shiyi:accepted") / "source.ttl")
    withheld: Counter[str] = Counter()
    with KnowledgeBase.open(kb) as base:
        hawthorn, cold = concept(base, "山楂"), concept(base, "寒")
        evidence = (Evidence(dataset.source, Confidence(0.9)),)
        plain = ProposedClaim(Claim(hawthorn, SHIYI.hasNature, cold, evidence))
        machine = Source("m", "机", "M", Tier.MODEL)
        claims = [
            ProposedClaim(plain.claim, by_model=True),
            ProposedClaim(
                Claim(hawthorn, SHIYI.hasNature, cold, (Evidence(machine, Confidence(0.4)),))
            ),
            ProposedClaim(Claim(resource("nothing"), SHIYI.hasNature, cold, evidence)),
            ProposedClaim(Claim(hawthorn, RDF.value, cold, evidence)),
        ]
        made_claims = AdmissionPolicy(dataset, base.store).of([plain, *claims], withheld)
    assert [claim.entry for claim in made_claims] == [Status.ACCEPTED, *[Status.CANDIDATE] * 4]
    assert withheld == {
        "read by a model": 2,
        "of a concept that is not in the accepted view": 1,
        "a name or match": 1,
    }


def test_policy_other_than_two_breaks_shape(tmp_path: Path) -> None:
    with pytest.raises(ConformanceError, match="candidates or accepted"):
        read_dataset(source(tmp_path / "hospital", "shiyi:rejected") / "source.ttl")


@pytest.mark.parametrize("number", [1, 3])
def test_killed_run_can_be_repeated_at_any_change(
    kb: Path, built: Path, tmp_path: Path, ingest: Ingest, number: int
) -> None:
    whole = copy_base(built, tmp_path / "undisturbed")
    ingest("shiyi:accepted", *ROWS, into=whole)
    folder = tmp_path / "hospital"
    words = ("ingest", "table", str(folder), "--mapping", str(folder / "mapping.toml"))
    child = [sys.executable, "-c", CHILD, "after", str(number), "--kb", str(kb), *words]
    process = subprocess.run(child, check=False, capture_output=True)  # noqa: S603 # our interpreter
    assert process.returncode in (0, -signal.SIGKILL)
    ingest("shiyi:accepted", *ROWS)
    assert stored(kb) == stored(whole)
    with KnowledgeBase.open(kb) as base, KnowledgeBase.open(whole) as other:
        node = graph("derived")
        assert set(base.store.match(graph=node)) == set(other.store.match(graph=node))
