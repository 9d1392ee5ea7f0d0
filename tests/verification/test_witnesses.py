"""What old books bear out independently enters the base, and no benefit of what harms does."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from witnesses import CORPUS, Admission, Key, Witness, choose_witnesses, independent, select

from shiyi.errors import TableError
from shiyi.ingest.documents.books import Book, books
from shiyi.ingest.tables.evidence import COLUMNS, attach_evidence, read_pointers
from shiyi.ingest.tables.starter import Starter
from shiyi.ingest.tables.tsv import Faults
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Source, Tier
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI
from shiyi.settings import ConfidenceSettings
from shiyi.verification.pointers import read_pointed_words
from tests.tables import from_table

GINGER, LIQUOR, SALT = "substance-ginger", "substance-liquor", "substance-salt"
NAUSEA = "symptom-nausea"
WARM: Key = (GINGER, "hasNature", "nature-warm")
CLASSES = {
    GINGER: "Food",
    LIQUOR: "Food",
    SALT: "Food",
    "herb-aconite": "Herb",
    "substance-rabbit": "Food",
    NAUSEA: "Symptom",
    "population-pregnant": "Population",
}
MADE = (
    WARM,
    (LIQUOR, "hasFoodGroup", "foodgroup-alcohol"),
    (GINGER, "cautionIn", "symptom-fever"),
    (GINGER, "indicatedFor", "symptom-cold"),
    ("disease-hypertensive-disorder", "unsuitableFood", SALT),
    ("substance-rabbit", "hasEfficacy", "efficacy-cooling"),
)
EVIDENCE = Evidence(
    Source("s", "书", "Book", Tier.CLASSIC), Confidence(0.5), "1", EvidenceKind.READ
)
CATALOGUE = '[old-books]\nsource = "collection"\nkind = "read"\nbooks = true\n'


def claim(subject: str, predicate: str, value: str) -> Claim:
    return Claim(resource(subject), getattr(SHIYI, predicate), resource(value), (EVIDENCE,))


def book(file: str, year: int | None = None, lineage: str = "") -> Book:
    return replace(next(iter(books().values())), file=file, end=year, lineage=lineage)


def witness(of: Book, quote: str, key: Key = WARM, before: str = "", after: str = "") -> Witness:
    return Witness(key, of, 5, 5 + len(quote), before, quote, after)


@pytest.fixture
def admission() -> Admission:
    concepts = {name: SimpleNamespace(id=name, class_name=kind) for name, kind in CLASSES.items()}
    starter = SimpleNamespace(
        concepts=SimpleNamespace(by_id=concepts), broader={}, claims=[claim(*row) for row in MADE]
    )
    return Admission(cast("Starter", starter))


@pytest.mark.parametrize(
    ("first", "second", "groups"),
    [
        (witness(book("a"), "性温"), witness(book("b"), "气温"), 2),
        (witness(book("a", lineage="x"), "性温"), witness(book("b", lineage="x"), "气温"), 1),
        (
            witness(book("a"), "止呕吐去痰下气散寒邪"),
            witness(book("b"), "止呕吐，去痰下气，散寒邪"),
            1,
        ),
        (
            witness(book("a"), "温", before="《别录》云，"),
            witness(book("b"), "性温", before="《别录》曰"),
            1,
        ),
        (
            witness(book("a"), "温", before="《别录》云。"),
            witness(book("b"), "性温", before="《别录》曰"),
            2,
        ),
    ],
)
def test_copies_are_one_witness(first: Witness, second: Witness, groups: int) -> None:
    assert len(independent([first, second])) == groups


def test_earliest_and_latest_witness_are_listed() -> None:
    witnesses = [
        witness(book(f"b{year}", year), "温") for year in (1900, 700, 1500, 200, 1100, 1596)
    ]
    shown = [
        each.book.end
        for each in choose_witnesses(independent([*witnesses, witness(book("z"), "温")]))
    ]
    assert shown[0] == 200
    assert shown[-1] is None
    assert len(shown) == 3


@from_table
def test_what_may_enter(admission: Admission, key: Key, fewest: int) -> None:
    assert admission.fewest(key) == fewest


def test_use_is_read_as_the_tables_state_it(admission: Admission) -> None:
    assert admission.key(GINGER, "indicatedFor", NAUSEA)[1] == "relieves"
    assert admission.key(GINGER, "indicatedFor", "symptom-cold")[1] == "indicatedFor"


def test_selected_pointers_become_evidence_of_dated_books(
    admission: Admission, tmp_path: Path
) -> None:
    early, late = sorted(books().values(), key=lambda one: one.end or 9999)[:2]
    new: Key = (GINGER, "hasFlavour", "flavour-pungent")
    alone: Key = (GINGER, "hasFlavour", "flavour-sweet")
    places = [witness(one, "味辛", key) for key in (WARM, new) for one in (late, early)]
    third = sorted(books().values(), key=lambda one: one.end or 9999)[2]
    row = f"{WARM[0]}\t{WARM[1]}\t{WARM[2]}\tsupports\tf\t{third.file}\ttext\t1\t2\td\n"
    (tmp_path / "another.tsv").write_text("\t".join(COLUMNS) + "\n" + row, "utf-8")
    places.append(witness(third, "性温"))
    counts = select([*places, witness(early, "甘", alone)], admission, tmp_path)
    (tmp_path / "another.tsv").unlink()
    assert counts == {"claims": 3, "enough": 2, "entering": 2, "new": 1, "pointers": 4}
    (tmp_path / "corpora.toml").write_text(CATALOGUE, encoding="utf-8")
    pointers = list(read_pointers(tmp_path))
    assert {row.corpus for row in pointers} == {CORPUS}
    record = SimpleNamespace(cells={"text": "*****味辛"})
    assert {read_pointed_words(row, record) for row in pointers} == {"味辛"}  # type: ignore[arg-type]
    sources = {"collection": Source("collection", "书", "Books", Tier.CLASSIC)}
    tables, weights, faults = [claim(*one) for one in MADE], ConfidenceSettings(), Faults()
    results = {
        each.iri: each for each in attach_evidence(tables, sources, weights, faults, tmp_path)
    }
    assert len(results) == len(MADE) + 1
    for key in (WARM, new):
        found = {evidence.source.id for evidence in results[claim(*key).iri].evidence} - {"s"}
        assert found == {early.source_id, late.source_id}
    (tmp_path / "old-books.tsv").write_text(
        (tmp_path / "old-books.tsv").read_text("utf-8").replace(early.file, "no-book.txt"), "utf-8"
    )
    attach_evidence(tables, sources, weights, faults, tmp_path)
    with pytest.raises(TableError, match="no-book"):
        faults.raise_if_any()
