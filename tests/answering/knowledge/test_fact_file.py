"""The facts opened from the files of a build are those that reading the store would give."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.answering.knowledge.fact_file import FILE, open_facts
from shiyi.answering.knowledge.facts import Facts
from shiyi.answering.knowledge.updates import open_state, refresh_files, write_state
from shiyi.answering.runtime import Runtime
from shiyi.cli import main
from shiyi.columnar.mapped_file import Memmap, write
from shiyi.columnar.strings import PatchedMap, Selection, Strings
from shiyi.curation.changes import Changes
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.errors import IndexMismatchError
from shiyi.model.rdf import DefaultGraph, Literal, Quad
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.derivation import replace_derived, rule_quads
from shiyi.reasoning.rules import DERIVED
from shiyi.settings import Settings
from shiyi.sparql.base.digests import note_digests
from shiyi.sparql.base.integrity import scrub
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.answering.knowledge.test_updates import edges
from tests.support.bases import GOJI, HARM, INTERACTION, build
from tests.support.questions import ask

SCHEMA = Schema.load()
PARTS = (
    "by_subject",
    "by_object",
    "by_claim",
    "labels",
    "classes",
    "broader",
    "cuis",
    "premises",
    "narrower",
    "_of_class",
    "joins",
)


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    path = build(tmp_path / "kb")
    with KnowledgeBase.open(path, write=True) as base:
        write_state(base, SCHEMA)
    return path


def sets(stored: Any) -> dict[Any, Any]:
    """A mapping of tuples, in whose order nothing lies."""
    return {
        key: sorted(found, key=str) if isinstance(found, tuple) else found
        for key, found in stored.items()
        if found
    }


def check(base: KnowledgeBase) -> None:
    state, read = open_state(base, SCHEMA, base.store), Facts.read(base.store, SCHEMA)
    for name in PARTS:
        assert sets(getattr(state.facts, name)) == sets(getattr(read, name)), name
    for end in (*read.by_subject, *read.by_object):
        for fact in read.by_subject.get(end, ()):
            assert state.facts.of(end, fact.predicate) == read.of(end, fact.predicate)
            assert state.facts.inverse(fact.object, fact.predicate) == read.inverse(
                fact.object, fact.predicate
            )
            assert state.facts.between(fact.object, end) == read.between(fact.object, end)
    assert edges(state.projection) == edges(Projection.from_store(base.store, ""))


def test_the_starter_base_opens_as_it_was_read(starter_kb: Path) -> None:
    with KnowledgeBase.open(starter_kb) as base:
        file = open_facts(base.folder / "index", base.release, SCHEMA)
        facts = file.facts
        read = Facts.read(base.store, SCHEMA)
        for name in PARTS:
            one, other = getattr(facts, name), getattr(read, name)
            assert dict(one) == dict(other), name
            if name not in ("by_claim", "_of_class"):  # nothing goes through those in order
                assert list(one) == list(other), name
        adjacency = Projection.load(base.folder / "index", base.release, file.claims)
        assert edges(adjacency) == edges(Projection.from_store(base.store, base.release))


def test_what_was_reviewed_since_in_what_is_opened(kb: Path) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        check(base)
        decisions = Decisions(Changes(base.writer))
        for claim, kind in ((HARM, "accept"), (INTERACTION, "reject"), (INTERACTION, "accept")):
            decisions.review(claim.iri.value, ReviewDecision(kind, "li"))
            check(base)
    with KnowledgeBase.open(kb) as base:
        check(base)


def test_renamed_and_moved_concept_in_what_is_opened(kb: Path) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        name = Quad(GOJI, SKOS.prefLabel, Literal("wolfberry", language="en"))
        old = [*base.store.match(GOJI, SKOS.prefLabel, None, DefaultGraph())]
        old = [q for q in old if isinstance(q.object, Literal) and q.object.language == "en"]
        kinds = [*base.store.match(GOJI, RDF.type, None, DefaultGraph())]
        base.writer.write(
            (name, Quad(GOJI, RDF.type, SHIYI.Herb), Quad(GOJI, SKOS.broader, HARM.object)),
            (*old, *kinds),
            key="moved",
            agent="test",
            reason="test",
        )
        check(base)
        assert open_state(base, SCHEMA, base.store).facts.label(GOJI.value, "en") == "wolfberry"


def test_newly_derived_claims_are_in_opened_index(kb: Path) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        replace_derived(base.store, tuple(rule_quads(base.store)), ("rules",))
        check(base)
        replace_derived(base.store, (), ("rules",))
        check(base)
        assert not any(base.store.match(None, None, None, DERIVED))


def test_files_are_written_again_where_much_changed(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase.open(kb, write=True) as base:
        path = base.folder / "index" / FILE
        note_digests(base.folder)
        before = path.read_bytes()
        replace_derived(base.store, tuple(rule_quads(base.store)), ("rules",))
        decisions = Decisions(Changes(base.writer))
        decisions.review(HARM.iri.value, ReviewDecision("accept", "li"))
        assert not refresh_files(base, SCHEMA)  # little changed
        monkeypatch.setattr("shiyi.answering.knowledge.updates._FEW", -9)
        assert refresh_files(base, SCHEMA)
        monkeypatch.undo()
        assert path.read_bytes() != before
        file = open_facts(path.parent, base.release, SCHEMA)
        assert not file.texts
        assert file.through == base.sequence > 0
        check(base)
    assert scrub(kb).damages == []


def test_internal_claims_are_left_out_of_fact_file(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        facts = open_facts(base.folder / "index", base.release, SCHEMA).facts
        shut = next(iter(facts.by_claim))

        class Shown(type(base.store)):  # type: ignore[misc] # whichever store it is
            def match(self, *terms: Any, **named: Any) -> Any:
                quads = base.store.match(*terms, **named)
                return (q for q in quads if getattr(q.subject, "value", "") != shut)

        state = open_state(base, SCHEMA, Shown(None), (shut,))
        assert shut in facts.by_claim
        assert shut not in state.facts.by_claim
        assert shut not in set(state.projection.claims)


@pytest.mark.parametrize("harm", ["gone", "cut short", "no safetensors", "another release"])
def test_base_without_whole_files_opens_all_same(kb: Path, harm: str) -> None:
    with KnowledgeBase.open(kb) as base:
        path = base.folder / "index" / FILE
        content = path.read_bytes()
        path.unlink()
        if harm == "cut short":
            path.write_bytes(content[: len(content) // 2])
        elif harm == "no safetensors":
            path.write_bytes(random.Random(3).randbytes(900))  # noqa: S311
        elif harm == "another release":
            write(path, {}, format="2", release="sha256:other")
        with pytest.raises(IndexMismatchError, match="shiyi index"):
            open_facts(path.parent, base.release, SCHEMA)
        check(base)


TEXTS = st.text(max_size=6).filter(lambda item: not has_surrogates(item))


@given(
    st.sampled_from(["", "https://w3id.org/shiyi/id/", "https://w3id.org/shiyi/id/claim/é"]),
    st.lists(TEXTS) | st.lists(st.from_regex("[0-9a-f]{32}", fullmatch=True), min_size=1),
    st.text() | st.from_regex("[0-9a-fA-F]{32}", fullmatch=True),
)
def test_packed_strings_are_read_and_found_again(head: str, ends: list[str], other: str) -> None:
    results, other = [head + end for end in ends], head + other
    ordered = sorted(set(results))
    table, picked = Strings.of(ordered), Selection.of(results)
    written = table.arrays("some")
    assert Strings.over(written, "some") == table
    assert list(table) == ordered
    assert [table[place] for place in range(len(table))] == ordered
    assert list(picked) == results
    assert [table.place(each) for each in ordered] == list(range(len(ordered)))
    assert (table.place(other) is None) == (other not in ordered)
    if other not in ordered:
        later = table.with_more([other])
        assert later[-1] == other
        assert later.place(other) == len(ordered)
        assert [*later[: len(ordered)]] == ordered


def has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


@given(
    st.dictionaries(st.integers(0, 9), st.integers()),
    st.lists(st.dictionaries(st.integers(0, 12), st.none() | st.integers()), max_size=4),
)
def test_a_changed_mapping_is_as_the_changes_say(
    values: dict[int, int], changes: list[dict[int, int | None]]
) -> None:
    made, plain = PatchedMap(values, {}), dict(values)
    for change in changes:
        made = PatchedMap(made, change)
        for key, value in change.items():
            plain.pop(key, None)
            if value is not None:
                plain[key] = value
    assert dict(made) == plain
    assert len(made) == len(plain)
    assert {key for key in range(13) if key in made} == plain.keys()


def test_other_programs_read_the_file(kb: Path) -> None:
    from safetensors.numpy import load_file

    with KnowledgeBase.open(kb) as base:
        path = base.folder / "index" / FILE
        arrays = load_file(path)
        result = Memmap.open(path)
        assert {k: v.tolist() for k, v in arrays.items()} == {
            k: v.tolist() for k, v in result.arrays.items()
        }
        assert json.loads(result.about["predicates"])


QUESTION = "Can I take goji with warfarin?"


@pytest.fixture
def kb_to_reindex(tmp_path: Path) -> Path:
    return build(tmp_path / "kb")


def answered(kb: Path) -> str:
    with KnowledgeBase.open(kb) as base:
        return ask(Runtime.open(base, Settings()), QUESTION).text


def test_lost_indexes_are_rebuilt_with_same_answers(
    kb_to_reindex: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = answered(kb_to_reindex)
    with KnowledgeBase.open(kb_to_reindex) as base:
        folder = base.folder / "index"
    for path in folder.glob("*.safetensors"):
        path.unlink()
    assert main(["--kb", str(kb_to_reindex), "index", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["bytes"] > 1000
    assert len(list(folder.glob("*.safetensors"))) >= 4
    assert answered(kb_to_reindex) == before
    assert not scrub(kb_to_reindex).damages


def test_while_somebody_writes_nothing_is_indexed(
    kb_to_reindex: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with KnowledgeBase.open(kb_to_reindex, write=True):
        assert main(["--kb", str(kb_to_reindex), "index"]) == 2
    assert "process" in capsys.readouterr().err
