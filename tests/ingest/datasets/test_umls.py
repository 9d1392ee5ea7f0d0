"""A user's own UMLS release through the command, from a made-up sample in its published format."""

import json
from pathlib import Path

import pytest

from shiyi.cli import main
from shiyi.errors import UsageError
from shiyi.ingest.datasets.umls import Filters, Release, index_names, open_umls_linker
from shiyi.model.iris import UMLS
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.terms import DCTERMS, RDF, SHIYI, SKOS
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation

CONCEPT = NamedNode("https://w3id.org/shiyi/id/symptom-x")


def atom(cui: str, name: str, first: bool = True, lat: str = "ENG", sab: str = "MSH") -> str:
    ts, stt, best = ("P", "PF", "Y") if first else ("S", "VO", "N")
    return f"{cui}|{lat}|{ts}|L1|{stt}|S1|{best}|A1||M1||{sab}|PT|D1|{name}|0|N|256|\n"


@pytest.fixture
def meta(tmp_path: Path) -> Path:
    folder = tmp_path / "META"
    folder.mkdir()
    (folder / "MRCONSO.RRF").write_text(
        atom("C0000001", "made-up complaint")
        + atom("C0000001", "other complaint", False)
        + atom("C0000001", "queja inventada", True, "SPA")
        + atom("C0000001", "杜撰之症", True, "CHI")
        + atom("C0000002", "made-up disorder", True, "ENG", "SNOMEDCT_US")
        + atom("C0000003", "unrelated thing"),
        "utf-8",
    )
    (folder / "MRSTY.RRF").write_text(
        "C0000001|T184|A2|Sign|AT1|256|\nC0000002|T047|B2|Disease|AT2|256|\n"
        "C0000003|T121|A1|Substance|AT3|256|\n",
        "utf-8",
    )
    (folder / "MRDEF.RRF").write_text(
        "C0000001|A1|AT1||MSH|What was made up.|N||\nC0000001|A1|AT2||NCI|Suppressed.|O||\n"
        "C0000003|A1|AT3||MSH|Not asked for.|N||\n",
        "utf-8",
    )
    (folder / "MRREL.RRF").write_text(
        "C0000001|A1|AUI|PAR|C0000002|A2|AUI|isa|R1||MSH|MSH||Y|N||\n"
        "C0000001|A1|AUI|SIB|C0000002|A2|AUI||R2||MSH|MSH||Y|N||\n"
        "C0000001|A1|AUI|RO|C0000003|A2|AUI||R3||MSH|MSH||Y|N||\n",
        "utf-8",
    )
    (folder / "MRCUI.RRF").write_text(
        "C9000001|2020AA|SY|||C0000001|Y|\nC9000002|2020AA|DEL||||Y|\n", "utf-8"
    )
    return folder


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    quads = [
        Quad(CONCEPT, RDF.type, SHIYI.Symptom),
        Quad(CONCEPT, RDF.type, SKOS.Concept),
        Quad(CONCEPT, SKOS.prefLabel, Literal("made-up complaint", language="en")),
        Quad(CONCEPT, SKOS.prefLabel, Literal("杜撰之症", language="zh")),
        *(
            Quad(CONCEPT, SKOS.closeMatch, NamedNode(UMLS + cui))
            for cui in ("C9000001", "C9000002", "C0000002")
        ),
    ]
    build_generation(tmp_path / "kb", quads, {})
    return tmp_path / "kb"


def shown(kb: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["--kb", str(kb), "ingest", "umls", *words, "--json"]) == 0
    [report] = json.loads(capsys.readouterr().out)
    assert isinstance(report, dict)
    return report


def stored(kb: Path, cui: str) -> set[tuple[str, str]]:
    with KnowledgeBase.open(kb) as base:
        quads = base.store.match(NamedNode(UMLS + cui))
        return {
            (text(q.predicate).replace("#", "/").rpartition("/")[2], text(q.object)) for q in quads
        }


def test_release_adds_known_cuis_and_follows_retired_ones(
    kb: Path, meta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = shown(kb, str(meta), capsys=capsys)
    assert report["repaired"] == {"retired CUI": 1}
    assert report["unlinked"] == {"deleted CUI": 1}
    first = stored(kb, "C0000001")
    assert {
        ("prefLabel", "made-up complaint"),
        ("altLabel", "other complaint"),
        ("prefLabel", "杜撰之症"),
        ("definition", "What was made up."),
        ("type", "T184"),
        ("broader", UMLS + "C0000002"),
    } <= first
    assert not any("inventada" in value or "Suppressed" in value for _, value in first)
    assert (DCTERMS.isReplacedBy.value.rpartition("/")[2], UMLS + "C0000001") in stored(
        kb, "C9000001"
    )
    assert stored(kb, "C0000003") == set()  # nothing in the base is matched to it
    again = shown(kb, str(meta), capsys=capsys)
    assert again["skipped_batches"] == 4
    assert stored(kb, "C0000001") == first


def test_languages_sources_and_types_are_filtered(
    kb: Path, meta: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown(kb, str(meta), "--languages", "SPA", "--types", "T184", capsys=capsys)
    assert ("prefLabel", "queja inventada") in stored(kb, "C0000001")
    assert not any(key == "prefLabel" for key, _ in stored(kb, "C0000002"))
    names = list(Release(meta, Filters(sources=("SNOMEDCT_US",))).names())
    assert [name.text for name in names] == ["made-up disorder"]


def test_the_index_links_the_names_of_tables(meta: Path, tmp_path: Path) -> None:
    assert index_names(Release(meta), tmp_path) == 5
    linker = open_umls_linker(tmp_path)
    assert linker is not None
    match = linker.link("Made-up complaints", "Symptom")
    assert match is not None
    assert match.cui == "C0000001"
    assert linker.link("complaint", "Symptom") is None  # a part of a name is none
    assert open_umls_linker(tmp_path / "none") is None


def test_folder_without_umls_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"MRCONSO\.RRF"):
        Release(tmp_path).dataset()
    (tmp_path / "MRCONSO.RRF").write_text("C0000001|ENG|broken\n", "utf-8")
    with pytest.raises(UsageError, match="fields"):
        list(Release(tmp_path).names())
    with pytest.raises(UsageError, match=r"MRSTY\.RRF"):
        list(Release(tmp_path, Filters(types=("T047",))).names())
