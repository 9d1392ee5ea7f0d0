"""Decisions, opinions and the queue of one open base, made in the background, kept in step."""

import threading
from collections.abc import Sequence
from contextlib import suppress

from shiyi.answering.changed_facts import touched
from shiyi.curation.columns import Columns, classes_of
from shiyi.curation.decisions import Decisions
from shiyi.curation.ledger import Change
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Queue
from shiyi.errors import KnowledgeBaseError
from shiyi.ontology.vocabulary import Schema
from shiyi.server.curators import Curation
from shiyi.sparql.store import QuadStore


class Reviewing:
    """What the review desks read and write; the queue is there a moment after the server is."""

    def __init__(self, store: QuadStore, curation: Curation) -> None:
        self._store, self._curation = store, curation
        self._building, self._taking = threading.Lock(), threading.Lock()
        self._queue: Queue | None = None
        self._missed: dict[str, None] = {}  # claims that changed while the queue was made
        self.opinions = Opinions(store)
        if curation.changes:
            curation.changes.listeners += [self.opinions, self._heard]
            threading.Thread(target=self._prepare, daemon=True).start()

    @property
    def decisions(self) -> Decisions:
        """Give what reviews; ``KnowledgeBaseError`` where this server takes no changes."""
        return Decisions(self._curation.writing)

    @property
    def queue(self) -> Queue:
        """Give the queue, made at the first time it is asked for."""
        with self._building:
            if self._queue is None:
                made = self._made()
                with self._taking:
                    made.columns.update(self._missed)
                    self._queue = made
        if self._curation.citations:
            self._queue.columns.cite(self._curation.citations.fresh())
        return self._queue

    def _prepare(self) -> None:
        with suppress(KnowledgeBaseError):  # the server closed meanwhile
            self.queue  # noqa: B018 - made here, so that nobody waits for it

    def _made(self) -> Queue:
        schema = Schema.load()
        columns = Columns(self._store, schema, classes_of(self._store, schema))
        if cited := self._curation.citations:
            cited.fresh()
            columns.cite(cited.counts)
        return Queue(columns, self.opinions, self._curation.changes)

    def _heard(self, made: Sequence[Change]) -> None:
        quads = [quad for change in made for quad in (*change.removed, *change.added)]
        claims, _ = touched(quads)
        with self._taking:
            if self._queue is None:
                self._missed |= dict.fromkeys(claims)
            else:
                self._queue.columns.update(claims)
