"""A copy of the base that follows its writer, with literals as they were written set aside.

Taking many of them out of a snapshot takes seconds, so it is done once and not after each change.
"""

from pathlib import Path

from shiyi.model.rdf import Quad
from shiyi.sparql.journal import Record
from shiyi.sparql.oxigraph import NO_GRAPHS, OxigraphStore
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.withheld import hide
from shiyi.sparql.writer import UNFLUSHED, Writer
from shiyi.sparql.written import ASIDE, WRITTEN


class SetAside:
    """What :func:`hide` makes of a snapshot for those who see all, kept level with the base."""

    def __init__(self, writer: Writer, store: OxigraphStore, home: Path) -> None:
        """Copy the ``store`` of a ``writer``; copies lie in ``home``."""
        self._writer, self._home = writer, home
        with writer.turn():
            self._sequence = writer.sequence
            self._copy = Snapshot.of_store(store, home)
        try:
            hide(self._copy, whole=True)
            self._store = OxigraphStore.on_disk(self._copy.path)
            self._aside = OxigraphStore.on_disk(self._copy.path / ASIDE)
        except BaseException:
            self._copy.remove()
            raise

    def snapshot(self) -> Snapshot:
        """Make a snapshot of this moment; after an error this is to be closed."""
        with self._writer.turn():
            for record in self._writer.journal.records(self._sequence):
                self._follow(record)
            made = Snapshot.of_store(self._store, self._home)
            try:
                self._aside.backup(made.path / ASIDE)
            except BaseException:
                made.remove()
                raise
            return made

    def close(self) -> None:
        """Remove the copy; twice does no harm."""
        self._store.close()
        self._aside.close()
        self._copy.remove()

    def _follow(self, record: Record) -> None:
        (added, come), (removed, gone) = _parted(record.added), _parted(record.removed)
        if len(added) > UNFLUSHED and not removed and record.graphs == NO_GRAPHS:
            self._store.load_quads(added)  # at a tenth of the memory
        else:
            self._store.change(added, removed, record.graphs)
        self._aside.change(come, gone)
        self._sequence = record.sequence


def _parted(quads: tuple[Quad, ...]) -> tuple[list[Quad], list[Quad]]:
    """Give the quads that readers see, and those that say how others are written."""
    aside = [quad for quad in quads if quad.graph_name == WRITTEN]
    return [quad for quad in quads if quad.graph_name != WRITTEN], aside
