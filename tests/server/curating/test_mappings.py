"""The mappings desk: SSSOM in and out without loss, and decisions that change links and CUIs."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.curation.vocabulary.mappings import (
    counts,
    export_mappings,
    import_mappings,
    read_mapping,
    sets,
)
from shiyi.curation.vocabulary.sssom import MappingSet, parse_sssom, serialize_sssom
from shiyi.errors import UsageError
from shiyi.ingest.tables.mappings import table_quads
from shiyi.linking.umls.index import UmlsNames
from shiyi.linking.umls.sources import UmlsName
from shiyi.model.iris import ID, resource
from shiyi.model.rdf import DefaultGraph, NamedNode, text
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support.sites import FullDesks, Visitor, served
from tests.tables import from_table

DESK, TAKE = "/curate/mappings", "/curate/mappings/import"
SETS = sorted(artefact("ontology/mappings").glob("*.sssom.tsv"))
HOSTILE = "<img src=x onerror=alert(1)>"
TABLE = f"""#curie_map:
#  shiyi: https://w3id.org/shiyi/id/
#  UMLS: http://identifiers.org/umls/
#mapping_set_id: https://example.org/sets/mine
#mapping_set_title: Zwei: "ä" | ü
#license: https://creativecommons.org/licenses/by/4.0/
subject_id\tsubject_label\tpredicate_id\tobject_id\tobject_label\tobject_category\tmapping_justification\tconfidence\tsimilarity_score\tother\tcomment
shiyi:substance-goji\tgoji\tskos:exactMatch\tUMLS:C0000001\tGoji {HOSTILE}\tFood\tsemapv:LexicalMatching\t0.7\t0.91\ta=b|c=d\tfirst
shiyi:substance-goji\tgoji\tskos:closeMatch\tUMLS:C0000002\tLycium\tPlant\tsemapv:ManualMappingCuration\t0.9\t\t\t
shiyi:drug-warfarin\twarfarin\tskos:exactMatch\tUMLS:C0000003\twarfarin\t\tsemapv:LexicalMatching\t1\t\t\t
"""
GOJI = resource("substance-goji")


@pytest.mark.parametrize("path", SETS, ids=lambda p: p.name.removesuffix(".sssom.tsv"))
def test_shipped_mapping_set_survives_round_trip(path: Path) -> None:
    before = parse_sssom(path.read_text("utf-8"))
    store = OxigraphStore.in_memory()
    edit = import_mappings(store, before)
    store.change(edit.added)
    after = parse_sssom(serialize_sssom(export_mappings(store, "all", before.name)))
    assert len(before.rows) > 10
    assert after.head == before.head
    assert sorted(r.cells for r in after.rows) == sorted(r.cells for r in before.rows)


def test_slots_we_do_not_know_come_back_too() -> None:
    before = parse_sssom(TABLE)
    after = parse_sssom(serialize_sssom(before))
    assert (after.rows, after.head) == (before.rows, before.head)
    assert after.rows[0].get("similarity_score") == "0.91"
    assert after.rows[0].get("other") == "a=b|c=d"


@pytest.mark.filterwarnings("ignore::Warning")  # of the package and of pandas
def test_the_sssom_package_reads_what_we_write(tmp_path: Path) -> None:
    if importlib.util.find_spec("sssom") is None:
        pytest.skip("the package sssom is not installed: pip install --group sssom")
    from sssom.parsers import parse_sssom_table

    path = tmp_path / "out.sssom.tsv"
    store = OxigraphStore.in_memory()
    store.change(list(table_quads(artefact("ontology/mappings"))))
    path.write_text(serialize_sssom(export_mappings(store)), "utf-8")
    assert len(parse_sssom_table(str(path)).df) == counts(store)["accepted"]


@from_table
def test_faulty_table_is_refused_by_line_and_column(change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        import_mappings(OxigraphStore.in_memory(), parse_sssom(TABLE.replace(*change)))


@pytest.fixture(scope="module")
def desks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullDesks]:
    with served(Path(tmp_path_factory.mktemp("mappings"))) as running:
        yield running


@pytest.fixture(scope="module")
def curator(desks: FullDesks) -> Visitor:
    visitor = desks.visitor("cura")
    page = visitor.get(f"{DESK}?lang=en")
    done = visitor.submit(page, TAKE, text=TABLE)
    assert "3 rows read" in done.body, done.body[:800]
    return visitor


def cuis(desks: FullDesks) -> set[str]:
    return {
        text(q.object) for q in desks.site.store.match(GOJI, SHIYI.umlsCui, None, DefaultGraph())
    }


def mapping(desks: FullDesks, target: str) -> str:
    rows = [
        r for r in export_mappings(desks.site.store, "all").rows if r.get("object_id") == target
    ]
    assert len(rows) == 1
    return rows[0].node.value.removeprefix(ID)


def decide(desks: FullDesks, visitor: Visitor, target: str, action: str, **more: str) -> int:
    name = mapping(desks, target)
    state = read_mapping(desks.site.store, NamedNode(ID + name))
    assert state is not None
    page = visitor.get(
        f"{DESK}?status={state.status}&about={state.subject.removeprefix(ID)}&lang=en"
    )
    name = ID + name
    form = page.body.split(f'value="{name}"')[0].rsplit("<form", 1)[1]
    sent = {
        "csrf": _value(form, "csrf"),
        "key": _value(form, "key"),
        "mapping": name,
        "version": _value(page.body.split(f'value="{name}"')[1], "version"),
    }
    return visitor.post(DESK, sent | {"action": action, "reason": "looked it up"} | more).status


def _value(part: str, name: str) -> str:
    return part.split(f'name="{name}" value="')[1].split('"')[0]


def test_mapping_page_shows_both_sides_escaped(curator: Visitor) -> None:
    page = curator.get(f"{DESK}?lang=en")
    assert "goji berry" in page.body
    assert "C0000001" in page.body
    assert "Plant" in page.body
    assert HOSTILE not in page.body
    assert "映射到" in curator.get(f"{DESK}?lang=zh").body
    curator.get(f"{DESK}?lang=en")


def test_accepted_mapping_links_until_undone(desks: FullDesks, curator: Visitor) -> None:
    assert decide(desks, curator, "UMLS:C0000002", "accept") == 200
    assert cuis(desks) == {"C0000002"}
    assert decide(desks, curator, "UMLS:C0000001", "accept") == 200
    assert cuis(desks) == {"C0000001"}  # an exact match before a close one
    links = desks.site.store.match(GOJI, SKOS.exactMatch, None, DefaultGraph())
    assert [text(q.object) for q in links] == ["http://identifiers.org/umls/C0000001"]
    changes = desks.site.curation.writable_changes  # type: ignore[union-attr] # this base has desks
    changes.undo(changes.latest(1)[0].iri, "cura", "no")
    assert cuis(desks) == {"C0000002"}


def test_mapping_predicate_is_changed_or_rejected(desks: FullDesks, curator: Visitor) -> None:
    assert decide(desks, curator, "UMLS:C0000003", "accept", predicate="skos:broadMatch") == 200
    warfarin = resource("drug-warfarin")
    store = desks.site.store
    assert [*store.match(warfarin, SKOS.broadMatch, None, DefaultGraph())]
    assert decide(desks, curator, "UMLS:C0000003", "rule-out") == 200
    assert not [*store.match(warfarin, SKOS.broadMatch, None, DefaultGraph())]
    [row] = [r for r in export_mappings(store).rows if r.get("object_id") == "UMLS:C0000003"]
    assert row.get("predicate_modifier") == "Not"
    assert row.get("reviewer_id") == "agent:cura"


def test_table_goes_out_as_set_with_its_head(desks: FullDesks, curator: Visitor) -> None:
    assert "https://example.org/sets/mine" in sets(desks.site.store)
    body = curator.get("/curate/mappings.sssom.tsv?set=https://example.org/sets/mine").body
    assert '#mapping_set_title: Zwei: "ä" | ü' in body
    assert isinstance(parse_sssom(body), MappingSet)


def test_a_reader_decides_nothing(desks: FullDesks) -> None:
    reader = desks.visitor("reader")
    page = reader.get(f"{DESK}?status=accepted&lang=en")
    assert page.status == 200
    assert 'value="accept"' not in page.body
    form = {"csrf": "x", "mapping": "mapping/1", "action": "accept"}
    assert reader.post(DESK, form).status == 403


def test_candidate_cuis_of_concept_come_from_operators_release(
    desks: FullDesks, curator: Visitor
) -> None:
    concept = "/curate/vocabulary/concept?id=disease-anemia&lang=en"
    assert curator.submit(curator.get(concept), TAKE).status == 400  # no release yet
    index = desks.site.settings.kb / "umls"
    UmlsNames.build(
        [
            UmlsName("Anemia", "C0002871", True, frozenset({"T047"})),
            UmlsName("Anemias", "C0002871", False, frozenset({"T047"})),
            UmlsName("Warfarin", "C0043031", True, frozenset({"T121"})),
        ],
        index,
    )
    (index / "retired.json").write_text("{}", "utf-8")
    page = curator.submit(curator.get(concept), TAKE)
    assert page.status == 200, page.body[:1500]
    [row] = [
        r
        for r in export_mappings(desks.site.store, "candidate").rows
        if r.get("subject_id") == "shiyi:disease-anemia"
    ]
    assert row.get("object_id") == "UMLS:C0002871"
    assert row.get("object_label") == ""
    assert "C0002871" in curator.get(f"{DESK}?about=disease-anemia&lang=en").body
