"""Mapping sets: valid SSSOM, and every CUI listed in an open source."""

import csv
import gzip
import importlib.util
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.ingest.tables.starter import Starter
from shiyi.model.iris import VOCAB
from shiyi.ontology.schema import Schema
from tests.support.places import SHARED

SETS = sorted(artefact("ontology/mappings").glob("*.sssom.tsv"))
DATA = Path(os.environ.get("SHIYI_DATA", SHARED / "data"))
SAMPLE = DATA.parent / "reference" / "cui_sample.tsv"
ALIGNED = (
    "w3id.org/biolink", "obo/RO_", "obo/FOODON_", "schema.org", "skos/core",
    "ns/prov", "w3id.org/sssom", "ns/dcat",
)  # fmt: skip


def rows(path: Path) -> list[dict[str, str]]:
    lines = [x for x in path.read_text("utf-8").splitlines() if not x.startswith("#")]
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=True)) for line in lines[1:]]


def test_there_are_mapping_sets() -> None:
    assert len(SETS) == 10


@pytest.mark.parametrize("path", SETS, ids=lambda p: p.name.removesuffix(".sssom.tsv"))
def test_mapping_set_has_licence_prefixes_and_justifications(path: Path) -> None:
    head = [x for x in path.read_text("utf-8").splitlines() if x.startswith("#")]
    prefixes = {match[1] for x in head if (match := re.match(r"#  (\w+): http", x))}
    assert any(x.startswith("#license: https://creativecommons.org/") for x in head)
    assert f"#mapping_set_id: https://w3id.org/shiyi/mappings/{path.name.split('.')[0]}" in head
    assert len(rows(path)) > 10
    for row in rows(path):
        for column in ("subject_id", "predicate_id", "object_id", "mapping_justification"):
            assert row[column].partition(":")[0] in prefixes, row
        assert 0 < float(row["confidence"]) <= 1
        assert row["predicate_modifier"] in {"", "Not"}


@pytest.mark.parametrize("path", SETS, ids=lambda p: p.name.removesuffix(".sssom.tsv"))
def test_the_sssom_package_accepts_each_set(path: Path) -> None:
    if importlib.util.find_spec("sssom") is None:
        pytest.skip("the package sssom is not installed: pip install --group sssom")
    from sssom.parsers import parse_sssom_table
    from sssom.validators import validate

    read = parse_sssom_table(str(path))
    assert len(read.df) == len(rows(path))
    validate(read)


def open_cuis() -> set[str]:
    """Gather every CUI that the open files hold."""
    return {cui for text in _open_texts() for cui in re.findall(r"\bC[0-9]{7}\b", text)}


def _open_texts() -> Iterator[str]:
    for path in (*DATA.glob("mondo/*.gz"), *DATA.glob("doid/*.gz")):
        yield gzip.decompress(path.read_bytes()).decode("utf-8")
    clusters = json.loads(gzip.decompress((DATA / "suppai/cui_clusters.json.gz").read_bytes()))
    yield json.dumps(clusters)
    for path in (
        DATA / "suppai/preferred_names.json",
        DATA / "idisk2/DSI_public.csv",
        DATA / "idisk1/mskcc_relations.tsv",
        SAMPLE,
    ):
        yield path.read_text("utf-8")


def unsupported(mapped: set[tuple[str, str]], found: set[str]) -> list[tuple[str, str]]:
    return sorted(pair for pair in mapped if pair[1] not in found)


def test_every_cui_stands_in_an_open_source(starter: Starter) -> None:
    if not (DATA / "mondo").is_dir() or not SAMPLE.is_file():
        pytest.skip(f"the open data are not at {DATA}; set SHIYI_DATA")
    stored = open_cuis()
    assert len(stored) > 20_000
    mapped = {(mapping.subject, mapping.cui) for mapping in starter.mappings if mapping.cui}
    assert len(mapped) > 1000
    assert unsupported(mapped, stored) == []
    assert unsupported({("made-up", "C9999999")}, stored) == [("made-up", "C9999999")]


def test_every_row_names_open_source_it_stands_on() -> None:
    named = ("idisk", "mondo", "doid", "hp_", "suppai", "cui_sample")
    for path in SETS:
        for row in rows(path):
            if row["object_id"].startswith("UMLS:") and not row["predicate_modifier"]:
                assert any(each in row["comment"].lower() for each in named), row


def test_disease_row_stands_in_named_row() -> None:
    if not (DATA / "doid").is_dir():
        pytest.skip(f"the open data are not at {DATA}; set SHIYI_DATA")
    crosswalk = set()
    for path in (*DATA.glob("mondo/*umls*.gz"), DATA / "doid/allXREFinDO.tsv.gz"):
        for line in gzip.decompress(path.read_bytes()).decode("utf-8").splitlines():
            if match := re.match(r'"?((?:MONDO|DOID|HP):\d+)"?\t.*\b(C[0-9]{7})\b', line):
                crosswalk.add(match.groups())
    relations = (DATA / "idisk1/mskcc_relations.tsv").read_text("utf-8").splitlines()
    cited = next(csv.DictReader(relations, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert "original_string" in cited
    checked = 0
    for row in rows(artefact("ontology/mappings/clinical-umls.sssom.tsv")):
        place, cui = row["comment"].partition(";")[0], row["object_id"].removeprefix("UMLS:")
        if re.fullmatch(r"(MONDO|DOID|HP):\d+", place):
            assert (place, cui) in crosswalk, row
            checked += 1
        elif match := re.search(r"mskcc_relations row (\d+)", row["comment"]):
            assert cui in relations[int(match[1]) - 1], row
            checked += 1
    assert checked > 300


def test_the_terms_are_aligned_with_every_vocabulary_promised(starter: Starter) -> None:
    terms = [mapping for mapping in starter.mappings if mapping.node.value.startswith(VOCAB)]
    assert len(terms) > 100
    for place in ALIGNED:
        assert any(place in term.object for term in terms), place
    schema = Schema.load()
    names = {term.subject.removeprefix("voc:") for term in terms}
    assert names <= set(schema.parents) | set(schema.properties)


def test_treats_is_ruled_out_for_traditional_use() -> None:
    negated = [
        r
        for r in rows(artefact("ontology/mappings/vocabulary.sssom.tsv"))
        if r["predicate_modifier"]
    ]
    assert [(r["subject_id"], r["object_id"]) for r in negated] == [
        ("voc:indicatedFor", "biolink:treats")
    ]
