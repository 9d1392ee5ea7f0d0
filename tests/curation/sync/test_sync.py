"""Git and the desks never part: what one changed reaches the other, and nothing else moves."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.curation.changes import Changes, version_of
from shiyi.curation.editing.changes import ACCEPT, replace_claim
from shiyi.curation.editing.changes import add_claim as adding
from shiyi.curation.editing.claims import load_claim
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.curation.sync.sync import cells_of, read_incoming, write_outgoing
from shiyi.curation.vocabulary.concepts import add_concept, change_concept, load_concept
from shiyi.curation.vocabulary.mappings import decide_mapping, export_mappings, list_mappings
from shiyi.curation.vocabulary.merging import deprecate_concept, merge_concepts
from shiyi.curation.vocabulary.proposals import (
    proposals,
    propose_term,
    read_turtle,
    settle_proposal,
)
from shiyi.ingest.tables.concepts import Concept
from shiyi.ingest.tables.starter import load_starter
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import DefaultGraph, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from shiyi.sparql.store.port import QuadStore
from tests.support.copies import copy_base

KEPT = {  # enough of the real tables for every desk
    "claims": ("substances", "incompatibilities", "formulas"),
    "concepts": ("substances", "organisms", "efficacies", "symptoms", "formulas", "schemes",
                 "foods-clinical", "herbs-clinical", "syndromes", "tcm-diseases", "dish-ingredients"),
    "mappings": ("substances-umls.sssom", "vocabulary.sssom"),
}  # fmt: skip
EACH = 6  # one row of so many is taken of the large tables
SHARED = """subject\tsource\tlocator\tkind\thasFlavour
substance-gouqizi\tzhongyaoxue-7|tcm-mkg-chp\t枸杞|row 1\tread\tflavour-bitter|flavour-salty
"""
_SAID = {
    RDF.reifies, SHIYI.polarity, SHIYI.evidence, SHIYI.extractionConfidence, SHIYI.evidenceKind,
    SHIYI.sourceLocator, SHIYI.dose, SHIYI.noteText, DCTERMS.source,
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = Path(tmp_path_factory.mktemp("repository"))
    shutil.copytree(artefact("ontology"), root / "ontology")
    shutil.copytree(artefact("shapes"), root / "shapes")
    for folder, names in KEPT.items():
        for path in (root / "ontology" / folder).glob("*.tsv"):
            if path.stem not in names:
                path.unlink()
    for name in ("substances", "formulas"):
        path = root / "ontology" / "claims" / f"{name}.tsv"
        head, *rows = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join((head, *rows[::EACH])), "utf-8")
    (root / "ontology" / "claims" / "shared.tsv").write_text(SHARED, "utf-8")
    return root / "ontology"


def build(kb: Path, tables: Path) -> None:
    quads = list(load_starter(tables).quads())
    build_generation(kb, quads, {"quads": len(quads)})


def facts(store: QuadStore) -> set[str]:
    """Everything accepted: each claim with all that its evidence says."""
    return {
        str(quad)
        for quad in store.match(graph=DefaultGraph())
        if quad.predicate in _SAID
        and text(quad.subject).startswith((f"{ID}claim/", f"{ID}evidence/"))
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, tables: Path) -> Path:
    """A base of the real tables; copy it to write."""
    kb = Path(tmp_path_factory.mktemp("built")) / "kb"
    build(kb, tables)
    return kb


@pytest.fixture(scope="module")
def curated(tmp_path_factory: pytest.TempPathFactory, built: Path, tables: Path) -> Path:
    """A base of the real tables on which every desk was at work."""
    kb = copy_base(built, Path(tmp_path_factory.mktemp("sync")) / "kb")
    with KnowledgeBase.open(kb, write=True) as base:
        work(Changes(base.writer), tables)
    return kb


def work(changes: Changes, tables: Path) -> None:
    store, weights = changes.store, ConfidenceSettings()
    starter = load_starter(tables)
    cells = list(cells_of(tables, starter, weights))
    wide = next(
        x
        for x in cells
        if x.column == "hasFlavour"
        and "|" in x.row.get("hasFlavour")
        and "|" not in x.row.get("source")
    )
    long = next(
        x for x in cells if x.column == "object" and x.claim.predicate == SHIYI.hasIngredient
    )
    cell = next(x for x in cells if x.row.place.file.endswith("shared.tsv"))
    for each, new in ((wide, resource("flavour-salty")), (long, resource("substance-yiyiren"))):
        old = load_claim(store, each.claim.iri.value)
        assert old is not None
        claim = Claim(old.claim.subject, old.claim.predicate, new, old.claim.evidence)
        seen = version_of(store, old.iri.value)
        changes.make(replace_claim(store, old, [claim], seen, ACCEPT), "li")
    # one of the two sources of one cell goes
    old = load_claim(store, cell.claim.iri.value)
    assert old is not None
    listed_evidence = tuple(e for e in old.claim.evidence if e.source.id != "tcm-mkg-chp")
    assert 0 < len(listed_evidence) < len(old.claim.evidence)
    claim = Claim(old.claim.subject, old.claim.predicate, old.claim.object, listed_evidence)
    changes.make(replace_claim(store, old, [claim], version_of(store, old.iri.value), ACCEPT), "li")
    rejected = next(x for x in cells if x.claim.predicate == SHIYI.hasEfficacy)
    Decisions(changes).review(
        rejected.claim.iri.value, ReviewDecision("reject", "li", "not in the book")
    )
    source = next(iter(starter.sources.values()))
    evidence = Evidence(
        source,
        Confidence(0.77),
        "p. 1",
        EvidenceKind.READ,
        qualifiers=(("dose", "3 g"), ("note_en", "A note.")),
    )
    fresh = Claim(
        resource("substance-gouqizi"), SHIYI.cautionIn, resource("symptom-thirst"), (evidence,)
    )
    if load_concept(store, f"{ID}symptom-thirst") is None:
        fresh = Claim(
            fresh.subject, fresh.predicate, resource("symptom-aversion-to-cold"), (evidence,)
        )
    changes.make(adding(store, fresh, ACCEPT), "li")
    concepts(changes)
    mapping = list_mappings(store, "accepted", 0, 1)[0]
    changes.make(decide_mapping(store, mapping.iri, "accepted", negated=True), "li")
    turtle = """shiyi:pairsWith a owl:ObjectProperty ;
  rdfs:label "pairs with"@en , "搭配"@zh ; rdfs:domain shiyi:Food ; rdfs:range shiyi:Food ;
  skos:definition "What goes well with it."@en , "与它相配的食物。"@zh ; dcterms:source "desk" .
"""
    kind, name = read_turtle(turtle)
    changes.make(propose_term(kind, name, turtle, "asked for"), "li")
    [proposal] = proposals(store)
    changes.make(settle_proposal(changes, proposal.iri, True, "wang"), "wang")


def concepts(changes: Changes) -> None:
    store = changes.store
    new = Concept(
        "symptom-dry-lips", "Symptom", "唇干", "dry lips", alt_zh=("嘴唇干",), scope_en="Of lips."
    )
    changes.make(add_concept(new), "li")
    flavour = load_concept(store, f"{ID}flavour-sweet")  # named by its label in hundreds of cells
    assert flavour is not None
    renamed = replace(flavour, zh="甜味", definition_en="Sweet.")
    changes.make(change_concept(store, renamed), "li")
    changes.make(
        merge_concepts(
            store, f"{ID}symptom-aversion-to-cold", f"{ID}symptom-cold-hands-and-feet", "one sign"
        ),
        "li",
    )
    changes.make(add_concept(Concept("symptom-nothing", "Symptom", "无此症", "no such sign")), "li")
    changes.make(deprecate_concept(store, f"{ID}symptom-nothing", "", "made by mistake"), "li")


def test_patch_rebuild_and_the_same_claims_stand(
    curated: Path, tables: Path, tmp_path: Path
) -> None:
    with KnowledgeBase.open(curated) as base:
        before = facts(base.store)
        rows = export_mappings(base.store, "accepted").rows
        outgoing = write_outgoing(base, tables)
        assert outgoing.unapplied == []
        assert min(outgoing.claims, outgoing.concepts, outgoing.mappings, outgoing.terms) > 0
        patch = outgoing.tables.patch()
    repository = tmp_path / "repository"
    shutil.copytree(tables.parent, repository)
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run(  # noqa: S603 - git, on our own patch
        [git, "apply", "--whitespace=nowarn", "-"], input=patch.encode(), cwd=repository, check=True
    )
    patched = repository / "ontology"
    assert "pairsWith" in (patched / "shiyi.ttl").read_text("utf-8")
    assert "symptom-nothing" in (patched / "retired/concepts.tsv").read_text("utf-8")
    # with the journal, and from the tables alone, as another clone would
    build(curated, patched)
    build(tmp_path / "fresh", patched)
    for kb in (curated, tmp_path / "fresh"):
        with KnowledgeBase.open(kb) as base:
            after = facts(base.store)
            assert (sorted(after - before), sorted(before - after)) == ([], [])
            assert export_mappings(base.store, "accepted").rows == rows
            sweet = load_concept(base.store, f"{ID}flavour-sweet")
            assert sweet is not None
            assert (sweet.zh, sweet.definition_en) == ("甜味", "Sweet.")
            assert load_concept(base.store, f"{ID}symptom-aversion-to-cold") is None
    with KnowledgeBase.open(curated) as base:
        assert write_outgoing(base, patched).is_empty
        incoming = read_incoming(base, patched)
        assert (incoming.added, incoming.removed) == ((), ())


def test_table_change_reaches_base_and_can_be_undone(
    tmp_path: Path, built: Path, tables: Path
) -> None:
    kb, copy = tmp_path / "kb", tmp_path / "ontology"
    shutil.copytree(tables, copy)
    copy_base(built, kb)
    path = copy / "claims" / "incompatibilities.tsv"
    lines = path.read_text("utf-8").splitlines()
    gone = next(i for i, x in enumerate(lines) if i > 0 and not x.startswith("#"))
    del lines[gone]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    concepts = copy / "concepts" / "symptoms.tsv"
    concepts.write_text(
        concepts.read_text("utf-8").replace("aversion to cold\t", "dread of cold\t", 1), "utf-8"
    )
    sync = ["--kb", str(kb), "sync"]
    assert main([*sync, "status", "--tables", str(copy)]) == 1
    assert main([*sync, "import", "--who", "a b", "--tables", str(copy)]) == 2
    with KnowledgeBase.open(kb) as base:
        before = facts(base.store)
    assert main([*sync, "import", "--tables", str(copy)]) == 0
    assert main([*sync, "status", "--tables", str(copy)]) == 0
    with KnowledgeBase.open(kb, write=True) as base:
        assert len(facts(base.store)) < len(before)
        entry = load_concept(base.store, f"{ID}symptom-aversion-to-cold")
        assert entry is not None
        assert entry.en == "dread of cold"
        changes = Changes(base.writer)
        changes.undo(changes.latest(1)[0].iri, "li", "no")
        assert facts(base.store) == before
        assert read_incoming(base, copy).is_empty  # the desk has spoken last
        assert not write_outgoing(base, copy).is_empty


def test_conflicting_changes_are_reported_and_not_written(
    tmp_path: Path, built: Path, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kb, copy = tmp_path / "kb", tmp_path / "ontology"
    shutil.copytree(tables, copy)
    copy_base(built, kb)
    assert main(["--kb", str(kb), "sync", "status", "--tables", str(copy)]) == 0  # nothing yet
    with KnowledgeBase.open(kb, write=True) as base:
        changes = Changes(base.writer)
        entry = Concept("symptom-new-one", "Symptom", "新症", "new sign")
        changes.make(add_concept(entry), "li")
    other = copy / "concepts" / "other.tsv"
    other.write_text("id\tclass\tzh\ten\nsymptom-another\tSymptom\t新症\tanother sign\n", "utf-8")
    before = {p: p.read_bytes() for p in copy.rglob("*.tsv")}
    assert main(["--kb", str(kb), "sync", "apply", "--tables", str(copy)]) == 2
    assert "新症" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in copy.rglob("*.tsv")} == before
