"""Decisions, opinions and the queue of one open base, made in the background, kept in step."""

import threading
from collections.abc import Sequence

from shiyi.curation.columns import Columns, classes_of
from shiyi.curation.decisions import Decisions
from shiyi.curation.ledger import Change
from shiyi.curation.opinions import Opinions
from shiyi.curation.queue import Queue
from shiyi.ontology.vocabulary import Schema
from shiyi.server.curators import Curation
from shiyi.server.refreshing import touched
from shiyi.sparql.store import QuadStore


class Reviewing:
    """What the review desks read and write; the queue is there a moment after the server is."""

    def __init__(self, store: QuadStore, curation: Curation) -> None:
        self._store, self._curation = store, curation
        self._lock = threading.Lock()
        self._queue: Queue | None = None
        self.opinions = Opinions(store)
        if curation.changes:
            curation.changes.listeners += [self.opinions, self._heard]
            threading.Thread(target=lambda: self.queue, daemon=True).start()

    @property
    def decisions(self) -> Decisions:
        """Give what reviews; ``KnowledgeBaseError`` where this server takes no changes."""
        return Decisions(self._curation.writing)

    @property
    def queue(self) -> Queue:
        """Give the queue, made at the first time it is asked for."""
        with self._lock:
            if self._queue is None:
                schema = Schema.load()
                columns = Columns(self._store, schema, classes_of(self._store, schema))
                if cited := self._curation.citations:
                    cited.fresh()
                    columns.cite(cited.counts)
                self._queue = Queue(columns, self.opinions, self._curation.changes)
            elif self._curation.citations:
                self._queue.columns.cite(self._curation.citations.fresh())
            return self._queue

    def _heard(self, made: Sequence[Change]) -> None:
        with self._lock:
            if self._queue is None:
                return  # it will read the store as it is then
            quads = [quad for change in made for quad in (*change.removed, *change.added)]
            self._queue.columns.update(touched(quads)[0])
