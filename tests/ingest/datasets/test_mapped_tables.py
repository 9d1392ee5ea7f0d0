"""Registers and vocabularies through the command, from samples in the published formats."""

import gzip
import importlib.util
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.ingest.datasets.mapping import load_mapping
from shiyi.ingest.gate import CANDIDATES
from shiyi.ingest.tables.starter import vocabulary_quads
from shiyi.model.iris import UMLS, resource
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.terms import DCTERMS, PROV, RDF, RDFS, SHIYI, SKOS
from shiyi.shapes.validation import shapes_graph, to_graph, validate
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import parse_n_quads
from shiyi.sparql.store.port import QuadStore
from tests.support.places import ROOT
from tests.tables import from_table

SAMPLES = artefact("ingest")


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIYI_INGEST_TABLE_BATCH", "4")


def shiyi(kb: Path, *words: str | Path) -> tuple[int, str, str]:
    """Run the command in this process; return its status and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        status = main(["--kb", str(kb), *map(str, words)])
    return status, out.getvalue(), err.getvalue()


def report(kb: Path, *words: str | Path) -> dict[str, Any]:
    status, out, err = shiyi(kb, "ingest", *words, "--json")
    assert status == 0, err
    [result] = json.loads(out)
    assert isinstance(result, dict)
    return result


def claims(store: QuadStore) -> set[tuple[str, str, str]]:
    """Return subject, relation and object of every candidate, by local name."""
    results = set()
    for quad in store.match(None, RDF.type, SHIYI.Claim, CANDIDATES):
        parts = []
        for predicate in (RDF.subject, RDF.predicate, RDF.object):
            assert isinstance(quad.subject, NamedNode)
            [part] = store.match(quad.subject, predicate, None, CANDIDATES)
            target = part.object if isinstance(part.object, NamedNode) else quad.subject
            result = next(iter(store.match(target, RDFS.label, None, CANDIDATES)), part)
            parts.append(text(result.object).replace("#", "/").rpartition("/")[2])
        results.add((parts[0], parts[1], parts[2]))
    return results


def test_idisk2_has_seven_types_and_six_relations(kb: Path) -> None:
    result = report(kb, "idisk2", SAMPLES / "idisk2/sample")
    assert not result["failures"]
    assert not result["quarantined"]
    assert result["unlinked"]["DSIngredient without a name"] == 1
    with KnowledgeBase.open(kb) as base:
        results = claims(base.store)
        kinds = {
            text(q.object).partition("#")[2]
            for q in base.store.match(None, RDF.type)
            if isinstance(q.subject, NamedNode) and "/idisk2-" in q.subject.value
        }
        sources = {
            text(q.object).rpartition("/")[2]
            for q in base.store.match(None, DCTERMS.source, None, CANDIDATES)
        }
        ratings = {text(q.object) for q in base.store.match(None, SHIYI.rating, None, CANDIDATES)}
    assert {
        "DSIngredient",
        "DSProduct",
        "Drug",
        "Disease",
        "Symptom",
        "SystemOrganClass",
        "TherapeuticClass",
    } <= kinds
    assert ("idisk2-DSP000001", "hasIngredient", "idisk2-DSI000001") in results
    assert ("idisk2-DSI000001", "isEffectiveFor", "idisk2-Dis000001") in results
    assert ("idisk2-DSI000001", "indicatedFor", "idisk2-Dis000002") in results  # nobody rated it
    assert ("idisk2-DSI000001", "interactsWith", "idisk2-D000001") in results
    assert ("idisk2-DSI000001", "hasAdverseReaction", "idisk2-SS000001") in results
    assert ("idisk2-DSI000001", "hasAdverseEffectOn", "idisk2-SOC000001") in results
    assert ("idisk2-DSI000001", "hasTherapeuticClass", "idisk2-TC000001") in results
    assert {
        "background",
        "safetyNote",
        "mechanismOfAction",
        "sourceMaterial",
        "manufacturer",
        "manufacturerAddress",
        "productPurpose",
        "productRisk",
    } <= {p for _, p, _ in results}
    assert {"likely", "moderate"} <= ratings
    assert {
        "source-idisk2-sample-mskcc",
        "source-idisk2-sample-nm",
        "source-idisk2-sample",
    } <= sources


def test_nothing_claimed_of_concept_with_an_empty_name(kb: Path) -> None:
    report(kb, "idisk2", SAMPLES / "idisk2/sample")
    with KnowledgeBase.open(kb) as base:
        assert not any("idisk2-DSI000008" in (s, o) for s, _, o in claims(base.store))


def test_concept_is_found_by_name_and_near_cui(kb: Path) -> None:
    report(kb, "idisk2", SAMPLES / "idisk2/sample")
    with KnowledgeBase.open(kb) as base:
        results = claims(base.store)
    assert ("idisk2-DSI000001", "closeMatch", "C0000001") in results
    assert any(p == "closeMatch" and o.startswith("supplement-") for _, p, o in results)


def test_dsld_labels_share_ingredients_of_same_name(kb: Path) -> None:
    result = report(kb, "dsld", SAMPLES / "dsld/sample")
    assert not result["quarantined"]
    with KnowledgeBase.open(kb) as base:
        results = claims(base.store)
        amounts = {text(q.object) for q in base.store.match(None, SHIYI.amount, None, CANDIDATES)}
    contents = {(s, o) for s, p, o in results if p == "hasIngredient"}
    assert len({s for s, _ in contents}) == 4
    assert len(contents) == len({o for _, o in contents}) + 1  # two labels have one in common
    assert "500 mg" in amounts
    assert ("dsld-1001", "manufacturerAddress", "1 Main Street, Reno, NV 89501, USA") in results
    assert ("dsld-1001", "productRisk", "Keep out of reach of children.") in results


def test_foodon_separates_own_imported_and_deprecated_classes(kb: Path) -> None:
    result = report(kb, "foodon", SAMPLES / "foodon/sample")
    assert not result["quarantined"]
    assert result["unlinked"] == {"skos:closeMatch (subject)": 2, "skos:closeMatch (object)": 1}
    with KnowledgeBase.open(kb) as base:
        results = claims(base.store)
    assert results == {
        ("substance-shiyan", "closeMatch", "FOODON_90000001"),
        ("substance-fengmi", "closeMatch", "FOODON_90000004"),
        ("substance-fengmi", "closeMatch", "FOODON_90000006"),
    }


def test_equal_rows_of_other_works_add_evidence(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "dsp_dsi.csv").write_text(
        "DSP,Relation,DSI,Source\nDSP1,has_ingredient,DSI1,DSLD\nDSP1,has_ingredient,DSI1,LNHPD\n"
        "DSP1,has_ingredient,DSI1,DSLD\n"
    )
    report(kb, "idisk2", tmp_path)
    with KnowledgeBase.open(kb) as base:
        assert len(claims(base.store)) == 1
        sources = [
            text(q.object).rpartition("/")[2]
            for q in base.store.match(None, DCTERMS.source, None, CANDIDATES)
        ]
    assert sorted(sources) == ["source-idisk2-dsld", "source-idisk2-lnhpd"]


def test_cell_that_is_no_term_of_rdf_named(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "foodon-labels.tsv").write_text('?subject\t?label\n<urn:a>\t"open\n')
    status, _, err = shiyi(kb, "ingest", "foodon", tmp_path)
    assert status == 2
    assert "no term of RDF" in err


def test_lnhpd_comes_without_header_in_an_older_encoding(kb: Path) -> None:
    result = report(kb, "lnhpd", SAMPLES / "lnhpd/sample")
    assert not result["quarantined"]
    with KnowledgeBase.open(kb) as base:
        results = claims(base.store)
    assert ("lnhpd-2001", "manufacturer", "Santé Nordique Inc.") in results
    assert ("lnhpd-2001", "sourceDatabase", "LNHPD NPN 80000001") in results
    assert any(s == "lnhpd-2001" and p == "hasIngredient" for s, p, _ in results)


def test_every_shipped_mapping_names_relations_that_exist() -> None:
    for folder in SAMPLES.glob("*/mapping.toml"):
        assert load_mapping(folder.parent.name)


def test_table_of_ones_own_is_read_by_mapping(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "source.ttl").write_text(
        (SAMPLES / "chp/source.ttl").read_text("utf-8").replace("dataset-chp", "dataset-mine")
    )
    (tmp_path / "mapping.toml").write_text(
        '[[tables]]\nfile = "mine.csv"\nkey = "herb"\ncolumns = ["herb", "nature"]\n'
        '[[tables.claims]]\nsubject = "herb"\nsubject_kinds = ["MFHSubstance"]\n'
        'predicate = "hasNature"\nobject = "nature"\nobject_kinds = ["Nature"]\n'
    )
    (tmp_path / "mine.csv").write_text("herb,nature\n枸杞子,平\n无此药,平\n", "utf-8")
    result = report(kb, "table", tmp_path, "--mapping", tmp_path / "mapping.toml")
    assert result["dataset"].startswith("mine@")
    assert result["claims"] == {"hasNature": 1}
    assert result["unlinked"] == {"hasNature (subject)": 1}


def test_changed_table_leaves_only_what_it_says_now(kb: Path, tmp_path: Path) -> None:
    for name in ("mapping.toml", "source.ttl"):
        (tmp_path / name).write_bytes((SAMPLES / "idisk2" / name).read_bytes())
    table = tmp_path / "D.csv"
    rows = [f"D00000{n},medicine {n},C000000{n}" for n in range(1, 8)]

    def stored(lines: list[str]) -> set[tuple[str, str, str]]:
        table.write_text("\n".join(["iDISK_ID,Name,CUI", *lines]) + "\n", "utf-8")
        report(kb, "idisk2", tmp_path)
        with KnowledgeBase.open(kb) as base:
            return claims(base.store)

    first = stored(rows)
    changed = stored([*rows[:3], "D000004,medicine 4,C0000009", *rows[5:]])
    assert ("idisk2-D000004", "closeMatch", "C0000009") in changed
    assert ("idisk2-D000004", "closeMatch", "C0000004") not in changed
    assert not any(s == "idisk2-D000005" for s, _, _ in changed)
    assert stored(rows) == first  # and back again


SSSOM = """# mapping_set_id: https://example.org/set
# license: https://creativecommons.org/publicdomain/zero/1.0/
# curie_map:
#   EX: https://example.org/
#   UMLS: http://linkedlifedata.com/resource/umls/id/
subject_id\tsubject_label\tpredicate_id\tobject_id\tmapping_justification\tconfidence
EX:1\tinsomnia\tskos:exactMatch\tUMLS:C0000001\tsemapv:LexicalMatching\t0.5
EX:2\tno such thing\tskos:exactMatch\tUMLS:C0000002\tsemapv:LexicalMatching\t
EX:3\tinsomnia\tex:odd\tUMLS:C0000003\tsemapv:LexicalMatching\t
"""


def test_an_sssom_set_becomes_matches_of_the_base(kb: Path, tmp_path: Path) -> None:
    path = tmp_path / "set.sssom.tsv.gz"
    path.write_bytes(gzip.compress(SSSOM.encode()))
    result = report(kb, "sssom", path)
    assert result["claims"] == {"exactMatch": 1}
    assert result["unlinked"] == {"subject": 1, "predicate ex:odd": 1}
    with KnowledgeBase.open(kb) as base:
        [match] = base.store.match(None, RDF.object, NamedNode(f"{UMLS}C0000001"), CANDIDATES)
        [licence] = base.store.match(resource("source-sssom-set"), DCTERMS.license)
    assert match
    assert "zero" in text(licence.object)


HP_SET = """#curie_map:
#  HP: http://purl.obolibrary.org/obo/HP_
#  UMLS: http://linkedlifedata.com/resource/umls/id/
subject_id\tpredicate_id\tobject_id\tmatch_type
HP:9000001\toboInOwl:hasDbXref\tUMLS:C9000001\tHumanCurated
HP:9000002\toboInOwl:hasDbXref\tUMLS:C9000002\tHumanCurated
HP:9000003\tskos:broadMatch\tUMLS:C9000001\tHumanCurated
"""


def test_data_set_without_names_joins_by_cui(kb: Path, tmp_path: Path) -> None:
    concept = resource("symptom-insomnia")
    match = Quad(concept, SKOS.exactMatch, NamedNode(f"{UMLS}C9000001"))
    with KnowledgeBase.open(kb, write=True) as base:
        base.writer.write([match], key="match", agent="test", reason="test")
    (tmp_path / "hp.sssom.tsv").write_text(HP_SET)
    result = report(kb, "sssom", tmp_path / "hp.sssom.tsv")
    assert result["unlinked"] == {"subject": 1}
    with KnowledgeBase.open(kb) as base:
        assert claims(base.store) == {
            ("symptom-insomnia", "closeMatch", "HP_9000001"),
            ("symptom-insomnia", "narrowMatch", "HP_9000003"),
        }


SKOS_FILE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<https://example.org/a> a skos:Concept ; skos:prefLabel "insomnia"@en ; skos:altLabel "sleeplessness"@en .
<https://example.org/b> a skos:Concept ; skos:prefLabel "no such sleep"@en ; skos:broader <https://example.org/a> .
<https://example.org/c> skos:prefLabel "no concept"@en .
"""
OWL_FILE = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#" xmlns:owl="http://www.w3.org/2002/07/owl#"
 xmlns:oio="http://www.geneontology.org/formats/oboInOwl#">
<owl:Class rdf:about="https://example.org/X1"><rdfs:label>insomnia</rdfs:label>
 <oio:hasDbXref>UMLS:C0000001</oio:hasDbXref>
 <rdfs:subClassOf rdf:resource="https://example.org/X0"/></owl:Class>
<owl:Class rdf:about="https://example.org/X0"><rdfs:label>disorder</rdfs:label></owl:Class>
<owl:Class rdf:about="https://example.org/X2"><rdfs:label>old</rdfs:label>
 <owl:deprecated rdf:datatype="http://www.w3.org/2001/XMLSchema#boolean">true</owl:deprecated></owl:Class>
</rdf:RDF>"""


@pytest.mark.parametrize(
    ("kind", "name", "written", "count", "broader"),
    [("skos", "v.ttl", SKOS_FILE, 2, "https://example.org/b"), ("owl", "v.owl", OWL_FILE, 2, "https://example.org/X1")],
)  # fmt: skip
def test_skos_and_owl_files_become_schemes_of_own(
    kb: Path, tmp_path: Path, kind: str, name: str, written: str, count: int, broader: str
) -> None:
    (tmp_path / name).write_text(written, "utf-8")
    result = report(kb, kind, tmp_path / name)
    assert (result["rows"], result["claims"]) == (count, {"closeMatch": 1})
    with KnowledgeBase.open(kb) as base:
        [quad] = base.store.match(NamedNode(broader), SKOS.broader, None)
        assert "/source/" in str(quad.graph_name)


@from_table
def test_hostile_vocabularies_are_refused(
    kb: Path, tmp_path: Path, name: str, written: str, message: str
) -> None:
    (tmp_path / name).write_text(written, "utf-8")
    status, out, err = shiyi(kb, "ingest", "skos", tmp_path / name)
    assert status == 2, out
    assert message in err


MADE = ROOT / "bench" / "made_up.py"
CLAIMS = 600
LISTED = (SHIYI.Constitution, SHIYI.MFHSubstance)  # those of the base; none is made up


@pytest.fixture(scope="module")
def made_up() -> ModuleType:
    spec = importlib.util.spec_from_file_location("made_up", MADE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["made_up"] = module
    spec.loader.exec_module(module)
    return module


def written(made_up: ModuleType) -> bytes:
    pools = made_up.Pools()
    for kind in LISTED:
        pools.iris[kind.value.rpartition("#")[2]] = [f"{kind.value}-{n}" for n in range(9)]
        pools.names |= dict.fromkeys((f"{kind.value}-{n}" for n in range(9)), ("甲", "one"))
    return b"".join((*made_up.concepts(pools, 300), *made_up.claims(pools, set(), CLAIMS)))


@pytest.fixture(scope="module")
def quads(made_up: ModuleType) -> tuple[Quad, ...]:
    return parse_n_quads(written(made_up))


def test_made_up_claims_conform_to_every_shape(quads: tuple[Quad, ...]) -> None:
    nearby_quads = [
        Quad(NamedNode(f"{kind.value}-{n}"), RDF.type, kind) for kind in LISTED for n in range(9)
    ]
    all_quads = [*vocabulary_quads(), *nearby_quads, *quads]
    results = [*map(str, validate(to_graph(all_quads), shapes_graph()))]
    listed = tuple(
        f"{level}: {kind.value}-" for level in ("Violation", "Warning") for kind in LISTED
    )
    assert [result for result in results if not result.startswith(listed)] == []
    broken = [q for q in all_quads if q.predicate != SHIYI.sourceTier]
    assert any("tier" in str(result) for result in validate(to_graph(broken), shapes_graph()))


def test_a_quote_stands_in_its_passage(quads: tuple[Quad, ...]) -> None:
    texts: dict[object, str] = {
        q.subject: text(q.object) for q in quads if q.predicate == RDF.value
    }
    passage_of = {
        q.subject: q.object
        for q in quads
        if q.predicate == PROV.wasDerivedFrom
        if "passage/" in text(q.object)
    }
    quotes = [(q.subject, text(q.object)) for q in quads if q.predicate == SHIYI.quote]
    results = [(node, result) for node, result in quotes if passage_of[node] in texts]
    assert len(results) > CLAIMS // 8
    assert all(result in texts[passage_of[node]] for node, result in results)
    assert {
        q.object.language
        for q in quads
        if q.subject in texts and q.predicate == RDF.value
        if isinstance(q.object, Literal)
    } == {"zh", "en"}
