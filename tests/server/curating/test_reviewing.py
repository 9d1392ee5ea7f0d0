"""The queue of an open base, saved for the next start."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shiyi.curation.accounts import AccountStore, Role
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Filter, Queue
from shiyi.curation.reviews import Decisions, ReviewDecision
from shiyi.model.claim import Claim
from shiyi.server.app import create_app
from shiyi.server.curating.reviewing import FILE, LiveQueue
from shiyi.server.site.curation import Curation
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from tests.support.bases import RELIEF, SWEETNESS, build
from tests.support.copies import copy_base


@contextmanager
def started(kb: Path) -> Iterator[tuple[KnowledgeBase, Queue, Curation]]:
    with KnowledgeBase.open(kb, write=True) as base:
        curation = Curation.open(base, Settings())
        yield base, LiveQueue(base.store, curation)(), curation


def reject(kb: Path, claim: Claim) -> None:
    with started(kb) as (_, _, curation):
        Decisions(curation.writable_changes).review(
            claim.iri.value, ReviewDecision("reject", "li", "not so")
        )


def page(queue: Queue) -> object:
    return queue.page("test", Filter(view="all"))


@pytest.mark.parametrize("other", [False, True], ids=["the same base", "another put back"])
def test_start_sees_what_changed_since_queue_was_saved(tmp_path: Path, other: bool) -> None:
    kb, before = build(tmp_path / "kb"), tmp_path / "before"
    copy_base(kb, before)
    reject(kb, SWEETNESS)
    with started(kb):
        pass  # saves the queue after one change
    if other:  # with one change too, but of another claim
        saved = (kb / FILE).read_bytes()
        shutil.rmtree(kb)
        before.rename(kb)
        reject(kb, RELIEF)
        (kb / FILE).write_bytes(saved)
    else:
        reject(kb, RELIEF)
    with started(kb) as (base, queue, _):
        assert page(queue) == page(Queue(base.store, Opinions(base.store)))


def test_queue_made_when_somebody_about_to_sign_in(tmp_path: Path) -> None:
    kb = build(tmp_path / "kb")
    AccountStore(kb).add("anna", Role.CURATOR, "correct horse battery 9")
    app = create_app(kb)
    try:
        app.test_client().get("/curate/sign-in")
        until = time.monotonic() + 30
        while not (made := (kb / FILE).is_file()) and time.monotonic() < until:
            time.sleep(0.05)
        assert made
    finally:
        app.extensions["shiyi"].close()
