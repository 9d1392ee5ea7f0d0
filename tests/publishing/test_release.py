"""A release is whole, hashed, repeatable, and tells what changed since the last."""

import csv
import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pyshacl
import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
from rdflib import DCTERMS, Graph

from shiyi.cli.publish import edition
from shiyi.errors import UsageError
from shiyi.model.claim import Claim, Confidence, Evidence
from shiyi.model.rdf import DefaultGraph, Quad, decimal, parse_n_quads_lines
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.publishing.editions import Edition, compare, list_editions
from shiyi.publishing.nquads import published_lines
from shiyi.publishing.release import ReleaseRequest, publish
from shiyi.settings import Settings
from shiyi.sparql.store.oxigraph import OxigraphStore
from shiyi.sparql.store.visibility import RestrictedContent
from tests.publishing.test_dumps import GOJI, OPEN, OPEN_CLAIM, PEAR, SHUT_CLAIM, WARFARIN, planted
from tests.support.places import ROOT

ORDER = ReleaseRequest("1.0.0", "2026-11-21", "sha256:test", "https://w3id.org/shiyi/")
NEW = Claim(PEAR, SHIYI.cautionIn, WARFARIN, (Evidence(OPEN, Confidence(0.7)),))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases: in the second a claim came, one went, one was rated again, one mapping moved."""
    folder = tmp_path_factory.mktemp("releases")
    store = planted()
    publish(store, folder, ORDER)
    quad = Quad(OPEN_CLAIM.iri, SHIYI.confidence, decimal(0.98), DefaultGraph())
    [mapping] = store.match(GOJI, SKOS.closeMatch)
    store.change(
        add=[
            *claim_quads(NEW),
            Quad(GOJI, SKOS.exactMatch, mapping.object),
            Quad(OPEN_CLAIM.iri, SHIYI.confidence, decimal(0.5)),
        ],
        remove=[quad, mapping],
    )
    publish(store, folder, replace(ORDER, version="1.1.0"))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_publishing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    releases = [publish(planted(), tmp_path / name, ORDER) for name in ("a", "b")]
    one, other = (files_of(release.folder) for release in releases)
    assert len(one) > 20
    assert one == other


def test_the_linkml_schema_of_a_release_is_closed(home: Path) -> None:
    path = home / "1.1.0/vocabulary.linkml.yaml"
    made = json.loads(path.read_text(encoding="utf-8"))
    classes, slots = made["classes"], made["slots"]
    assert classes["Food"]["is_a"] == "DietaryMaterial"
    assert slots["hasNutrient"]["range"] == "ChemicalEntity"
    above = {
        name
        for class_ in classes.values()
        for name in (class_.get("is_a"), *class_.get("mixins", ()))
        if name
    }
    ranges = {
        item["range"]
        for slot in slots.values()
        for item in (slot, *slot.get("any_of", ()))
        if "range" in item
    }
    assert above <= classes.keys()
    assert ranges - classes.keys() <= {"string", "uriorcurie"}
    assert {name for class_ in classes.values() for name in class_.get("slots", ())} == slots.keys()


def test_a_release_is_never_changed(tmp_path: Path) -> None:
    store = planted()
    publish(store, tmp_path, ORDER)
    assert publish(store, tmp_path, ORDER).unchanged
    store.change(add=claim_quads(NEW))
    with pytest.raises(UsageError, match="never changed"):
        publish(store, tmp_path, ORDER)
    assert [each.name for each in list_editions(tmp_path)] == ["1.0.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.0.0"]


@pytest.mark.parametrize("version", ["../evil", "", "a b", ".hidden"])
def test_a_version_is_a_plain_name(version: str) -> None:
    with pytest.raises(UsageError, match="no version"):
        replace(ORDER, version=version)


def test_every_checksum_holds(home: Path) -> None:
    lines = (home / "1.0.0" / "SHA256SUMS").read_text().splitlines()
    listed = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
    for name, digest in listed.items():
        assert hashlib.sha256((home / "1.0.0" / name).read_bytes()).hexdigest() == digest
    assert listed.keys() | {"SHA256SUMS"} == set(files_of(home / "1.0.0"))


def test_the_canonical_hash_is_that_of_rdfc(home: Path) -> None:
    packed = gzip.decompress((home / "1.0.0" / "shiyi.nq.gz").read_bytes())
    record = json.loads((home / "1.0.0" / "release.json").read_bytes())
    assert record["canonical"]["hash"] == f"sha256:{hashlib.sha256(packed).hexdigest()}"
    dataset = Dataset(parse(packed, RdfFormat.N_QUADS))
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    again = sorted(f"{quad} ." for quad in dataset)
    assert again == packed.decode().splitlines()


def test_blank_nodes_are_named_by_their_statements() -> None:
    results = ["<urn:a> <urn:p> _:{0} .", "_:{0} <urn:q> _:{1} .", '_:{1} <urn:q> "x" .']
    forms = []
    for names in (("x", "y"), ("b7", "a1")):
        store = OxigraphStore.in_memory()
        store.change(add=parse_n_quads_lines(line.format(*names).encode() for line in results))
        forms.append(list(published_lines(store, RestrictedContent())))
    assert forms[0] == forms[1]
    assert len(forms[0]) == 3


def test_nothing_restricted_is_in_any_file(home: Path) -> None:
    hidden = SHUT_CLAIM.iri.value.rpartition("/")[2].encode()
    shut = SHUT_CLAIM.evidence[0].iri(OPEN_CLAIM.iri).value.rpartition("/")[2].encode()
    for name, content in files_of(home / "1.0.0").items():
        plain = gzip.decompress(content) if name.endswith(".gz") else content
        assert hidden not in plain, name
        assert shut not in plain, name


def test_the_second_release_tells_each_change(home: Path) -> None:
    reply = json.loads((home / "1.1.0" / "changes.json").read_bytes())
    assert [item["claim"] for item in reply["added"]] == [NEW.iri.value]
    assert reply["removed"] == []
    [rated] = reply["re_rated"]
    assert (rated["claim"], rated["old_confidence"], rated["confidence"]) == (
        OPEN_CLAIM.iri.value,
        0.98,
        0.5,
    )
    [mapped] = reply["re_mapped"]
    assert mapped["concept"] == "shiyi.id:substance-goji"
    assert [item["predicate"] for item in mapped["removed"]] == ["skos:closeMatch"]
    table = home / "1.1.0" / "mappings.sssom.tsv"
    text = table.read_text()
    assert "#  shiyi.id: https://w3id.org/shiyi/id/" in text
    table.write_text(text.replace("\nshiyi.id:", "\nshiyi:"))  # as earlier releases have it
    renamed = Edition.of_folder(home / "1.1.0")
    assert renamed.mappings
    table.write_text(text)
    assert Edition.of_folder(home / "1.1.0") == renamed
    comparison = compare(Edition.of_folder(home / "1.1.0"), Edition.of_folder(home / "1.0.0"))
    assert [claim.claim for claim in comparison.removed] == [NEW.iri.value]
    log = (home / "1.1.0" / "CHANGELOG.md").read_text()
    assert log.index("1.1.0") < log.index("## 1.0.0")
    assert "1 added" in log


def test_metadata_name_the_release_and_every_file(home: Path) -> None:
    folder = home / "1.1.0"
    crate = json.loads((folder / "ro-crate-metadata.json").read_bytes())
    [root] = [item for item in crate["@graph"] if item["@id"] == "./"]
    assert all((folder / part["@id"]).is_file() for part in root["hasPart"])
    cite = json.loads((folder / "datacite.json").read_bytes())
    assert cite["version"] == "1.1.0"
    assert cite["relatedIdentifiers"][0]["relatedIdentifier"].endswith("id/release-1.0.0")
    assert 'version: "1.1.0"' in (folder / "CITATION.cff").read_text()
    void = list(parse((folder / "void.ttl").read_bytes(), RdfFormat.TURTLE))
    kinds = {quad.predicate.value.rpartition("#")[2] for quad in void}
    assert {
        "classPartition",
        "propertyPartition",
        "linkPredicate",
        "dataDump",
        "distribution",
        "previousVersion",
        "checksumValue",
    } <= kinds


# the core shapes of DCAT-AP 3.0.1 as published, and what this project promises beyond
DCAT_AP = ROOT / "tests/data/vendor/dcat-ap-3.0.1-shapes.ttl"
PROMISED = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dct: <http://purl.org/dc/terms/> .
[] a sh:NodeShape ; sh:targetClass dcat:Dataset ;
  sh:property [ sh:path dct:publisher ; sh:minCount 1 ] , [ sh:path dcat:landingPage ; sh:minCount 1 ] ,
    [ sh:path dcat:distribution ; sh:minCount 20 ; sh:class dcat:Distribution ] .
[] a sh:NodeShape ; sh:targetClass dcat:Distribution ;
  sh:property [ sh:path dct:license ; sh:minCount 1 ; sh:class dct:LicenseDocument ] .
"""


def test_the_description_conforms_to_dcat_ap(home: Path) -> None:
    shapes = Graph().parse(DCAT_AP).parse(data=PROMISED)
    data = Graph().parse(home / "1.1.0" / "void.ttl")
    conforms, _, report = pyshacl.validate(data, shacl_graph=shapes)
    assert conforms, report
    data.remove((None, DCTERMS.title, None))
    assert not pyshacl.validate(data, shacl_graph=shapes)[0]


def test_tables_described_as_data_package_csvw_and_croissant(home: Path) -> None:
    folder = home / "1.1.0"
    package, web, croissant = (
        json.loads((folder / f"{name}.json").read_bytes())
        for name in ("datapackage", "csvw-metadata", "croissant")
    )
    tables = {each["path"]: each for each in package["resources"]}
    results = {str(path.relative_to(folder)) for path in folder.rglob("*.[ct]sv")}
    assert tables.keys() == results | {"claims.csv.gz"}
    for name, item in tables.items():
        content = (folder / name).read_bytes()
        assert item["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        text = (gzip.decompress(content) if name.endswith(".gz") else content).decode()
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        rows = csv.DictReader(lines, delimiter=item.get("dialect", {}).get("delimiter", ","))
        assert [field["name"] for field in item["schema"]["fields"]] == rows.fieldnames
        numbers = [f["name"] for f in item["schema"]["fields"] if f["type"] == "number"]
        assert all(float(row[name]) <= 1 for row in rows for name in numbers)
    assert {each["url"] for each in web["tables"]} == results
    assert {each["@id"] for each in croissant["distribution"]} >= tables.keys()
    sources = {f["source"]["fileObject"]["@id"] for r in croissant["recordSet"] for f in r["field"]}
    assert sources == results


def test_claims_table_has_row_for_each_claim(home: Path) -> None:
    text = gzip.decompress((home / "1.0.0" / "claims.csv.gz").read_bytes()).decode()
    [row] = csv.DictReader(text.splitlines())
    assert row["claim"] == OPEN_CLAIM.iri.value
    assert (row["subject_zh"], row["object_en"], row["confidence"]) == (
        "枸杞子",
        "warfarin",
        "0.98",
    )


def test_figures_of_the_evaluation_become_a_table(tmp_path: Path) -> None:
    line = {
        "task": "linking",
        "file": "x.tsv",
        "method": "fused",
        "n": 3,
        "seconds": 1.2,
        "metrics": {"accuracy": {"value": 0.5, "low": 0.1, "high": 0.9}},
        "release": "sha256:other",
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(line))
    release = publish(
        planted(), tmp_path / "r", replace(ORDER, evaluations=(tmp_path / "x.jsonl",))
    )
    table = (release.folder / "evaluation" / "table.md").read_text()
    assert "| linking | x.tsv | fused | 3 | accuracy | 0.500 |" in table
    assert "other: sha256:other" in table
    (tmp_path / "y.jsonl").write_text("no json")
    with pytest.raises(UsageError, match="not JSON lines"):
        publish(planted(), tmp_path / "s", replace(ORDER, evaluations=(tmp_path / "y.jsonl",)))
    assert not list((tmp_path / "s").iterdir())


def test_unknown_release_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a release nor a knowledge base"):
        edition(str(tmp_path), Settings(kb=tmp_path))
