"""A curated change is attributed, exact to take back, and refuses to overwrite what it has not seen."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shiyi.curation.changes import (
    Change,
    Changes,
    Difference,
    Edit,
    blame,
    state_before,
    state_of,
    version_of,
)
from shiyi.errors import StaleError, UsageError
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import SKOS
from shiyi.sparql.base.journal import read_journal
from shiyi.sparql.base.knowledge_base import KnowledgeBase

NODE = "https://example.org/n1"


def label(text: str) -> Quad:
    return Quad(NamedNode(NODE), SKOS.prefLabel, Literal(text, language="en"), DefaultGraph())


@pytest.fixture
def changes(writable_kb: KnowledgeBase) -> Changes:
    return Changes(writable_kb.writer)


def named(changes: Changes, text: str, key: str = "") -> str:
    seen = {NODE: version_of(changes.store, NODE)}
    edit = Edit("edit", (NODE,), "a name", added=(label(text),), expected=seen, key=key)
    return changes.make(edit, "li").iri


def test_a_change_says_who_when_why_and_what(changes: Changes, small_kb: Path) -> None:
    change = changes.get(named(changes, "one"))
    assert (change.number, change.who, change.reason, change.about) == (1, "li", "a name", (NODE,))
    assert change.added == (label("one"),)
    assert change.when.endswith("Z")
    record = list(read_journal(small_kb / "journal.nq"))[-1]
    assert (record.who, record.why) == ("li", "edit: a name")


def test_undo_restores_state_exactly_and_can_be_undone(changes: Changes) -> None:
    before = state_of(changes.store, NODE)
    first = named(changes, "one")
    undone = changes.undo(first, "wang", "no")
    assert state_of(changes.store, NODE) == before
    assert not changes.is_live(changes.get(first))
    changes.undo(undone.iri, "li", "yes")
    assert label("one") in state_of(changes.store, NODE)
    assert changes.is_live(changes.get(first))
    with pytest.raises(UsageError, match="taken back already"):
        changes.undo(undone.iri, "li", "again")


def test_undo_does_not_overwrite_later_change(changes: Changes) -> None:
    first = named(changes, "one")
    change = Edit("edit", (NODE,), "", removed=(label("one"),), added=(label("two"),))
    changes.make(change, "wang")
    with pytest.raises(StaleError, match="undo it first"):
        changes.undo(first, "li", "")
    assert label("two") in state_of(changes.store, NODE)


def test_a_stale_edit_is_refused_and_writes_nothing(changes: Changes) -> None:
    seen = version_of(changes.store, NODE)
    named(changes, "one")
    with pytest.raises(StaleError, match="look again first"):
        changes.make(
            Edit("edit", (NODE,), "", added=(label("two"),), expected={NODE: seen}), "wang"
        )
    assert label("two") not in state_of(changes.store, NODE)
    assert changes.last == 1


def test_the_same_form_sent_twice_is_one_change(changes: Changes) -> None:
    assert named(changes, "one", key="form-1") == named(changes, "other", key="form-1")
    assert changes.last == 1


def test_fault_of_listener_leaves_change_and_other_listeners(
    changes: Changes, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[Sequence[Change]] = []

    def fail(created: Sequence[Change]) -> None:
        raise OSError(created[0].iri)

    changes.listeners += [fail, seen.append]
    change = changes.get(named(changes, "one"))
    assert seen == [(change,)]
    assert label("one") in state_of(changes.store, NODE)
    assert f"{change.iri} is written" in caplog.text


@pytest.mark.parametrize(
    ("microseconds", "written"), [(190_000, ".19Z"), (0, "50Z"), (7_999, ".007Z")]
)
def test_time_of_change_survives_storage(
    writable_kb: KnowledgeBase, microseconds: int, written: str
) -> None:
    when = datetime(2026, 11, 23, 10, 30, 50, microseconds, tzinfo=UTC)
    changes = Changes(writable_kb.writer, now=lambda: when)
    seen_changes: list[Change] = []
    changes.listeners.append(seen_changes.extend)
    change = changes.get(named(changes, "one"))
    assert seen_changes == [change]
    assert change.when.endswith(written)


def test_as_of_and_blame_give_states_and_authors(changes: Changes) -> None:
    origin = state_of(changes.store, NODE)
    named(changes, "one")
    one = state_of(changes.store, NODE)
    changes.make(Edit("edit", (NODE,), "", removed=(label("one"),), added=(label("two"),)), "wang")
    now, history = state_of(changes.store, NODE), changes.of(NODE)
    assert state_before(now, NODE, history, 1) == one
    assert state_before(now, NODE, history, 0) == origin
    assert Difference.between(one, now) == Difference((label("one"),), (label("two"),))
    assert {quad: change.who for quad, change in blame(now, history).items()} == {
        label("two"): "wang"
    }


def test_undo_leaves_quads_that_existed_before(changes: Changes) -> None:
    named(changes, "one")
    second = named(changes, "one")
    changes.undo(second, "li", "")
    assert label("one") in state_of(changes.store, NODE)


def test_changes_outlive_the_writer_and_count_on(changes: Changes, small_kb: Path) -> None:
    first = named(changes, "one")
    changes.writer.close()
    with KnowledgeBase.open(small_kb, write=True) as base:
        later = Changes(base.writer)
        assert later.get(first).added == (label("one"),)
        assert named(later, "two") != first
        assert [change.number for change in later.latest()] == [2, 1]
