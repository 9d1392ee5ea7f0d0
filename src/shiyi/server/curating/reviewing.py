"""Queue, opinions and decisions of an open base."""

import threading
from collections.abc import Sequence
from contextlib import suppress

from shiyi.answering.knowledge.updates import touched
from shiyi.curation.changes import Change
from shiyi.curation.claim_table import Columns, classes_of
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Queue
from shiyi.curation.reviews import Decisions
from shiyi.errors import KnowledgeBaseError
from shiyi.ontology.schema import Schema
from shiyi.server.site.curation import Curation
from shiyi.sparql.store.port import QuadStore


class Reviewing:
    """The data of the review pages; the queue is built in the background."""

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
        """Return what reviews; ``KnowledgeBaseError`` where this server takes no changes."""
        return Decisions(self._curation.writing)

    @property
    def queue(self) -> Queue:
        """Return the queue, made at the first time it is asked for."""
        with self._building:
            if self._queue is None:
                created = self._made()
                with self._taking:
                    created.columns.update(self._missed)
                    self._queue = created
        if self._curation.citations:
            self._queue.columns.cite(self._curation.citations.fresh())
        return self._queue

    def _prepare(self) -> None:
        with suppress(KnowledgeBaseError):  # the server closed in the meantime
            self.queue  # noqa: B018 - made here, so that nobody waits for it

    def _made(self) -> Queue:
        schema = Schema.load()
        columns = Columns(self._store, schema, classes_of(self._store, schema))
        if cited := self._curation.citations:
            cited.fresh()
            columns.cite(cited.counts)
        return Queue(columns, self.opinions, self._curation.changes)

    def _heard(self, created: Sequence[Change]) -> None:
        quads = [quad for change in created for quad in (*change.removed, *change.added)]
        claims, _ = touched(quads)
        with self._taking:
            if self._queue is None:
                self._missed |= dict.fromkeys(claims)
            else:
                self._queue.columns.update(claims)
