"""A knowledge base on disk, its generations, or over a remote store."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from shiyi.errors import IndexMismatchError, KnowledgeBaseError, OutsideError, QueryError
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad
from shiyi.ontology.terms import DCTERMS
from shiyi.settings import Settings
from shiyi.sparql.base.journal import last_number, read_journal
from shiyi.sparql.base.writer import JOURNAL_FILE, Writer, acquire_lock, apply, last_applied
from shiyi.sparql.remote.store import NOTE, RemoteStore
from shiyi.sparql.store.files import failures, replace_file, sync_folder, sync_tree
from shiyi.sparql.store.oxigraph import (
    REPAIR,
    OxigraphStore,
    has_blank_node,
    n_quads,
    parse_n_quads,
)
from shiyi.sparql.store.port import WritableStore
from shiyi.sparql.store.snapshots import Snapshot

Prepare = Callable[[OxigraphStore, Path], None]


def build_generation(
    kb: Path,
    quads: Iterable[Quad],
    counts: Mapping[str, int],
    prepare: Prepare | None = None,
    lose_changes: bool = False,
) -> str:
    """Build a base from ``quads``, replay the journal, make it current; return its release.

    ``prepare`` adds what is computed from the base (derived graph, index files) before readers
    see it. Killed at any moment, it leaves the old base; the next build removes what is left.
    Raise :class:`KnowledgeBaseError` for changes not in the journal, unless ``lose_changes``.
    """
    (kb / "generations").mkdir(parents=True, exist_ok=True)
    lock = acquire_lock(kb)
    try:
        if not lose_changes:
            check_changes(kb)
        _remove_all_but(kb, {folder.name for folder in _current_bases(kb)})
        with _next_generation(kb) as folder:
            release = _fill(kb, folder, tuple(quads), counts, prepare)
    finally:
        os.close(lock)
    return release


@contextmanager
def _next_generation(kb: Path) -> Iterator[Path]:
    """Yield the folder of a new generation, which is current once it is filled."""
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    folder = kb / "generations" / name
    try:
        (folder / "index").mkdir(parents=True)
        yield folder
        sync_tree(folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sync_folder(kb / "generations")
    replace_file(kb / "CURRENT", f"{name}\n".encode())


def renew_generation(kb: Path, retained: Iterable[str]) -> None:
    """Rewrite the store of a base without its indexes but the ``retained``; remove the old files.

    Files of a store hold what was removed from it; those of the new one never had it. Killed at
    any moment, it leaves either generation.
    """
    lock = acquire_lock(kb)
    try:
        old = current_generation(kb)
        with _next_generation(kb) as folder:
            store = OxigraphStore.on_disk(old / "store")
            try:
                store.pack(folder / "store")
            finally:
                store.close()
            shutil.copy2(old / "manifest.json", folder)
            for name in retained:
                if (old / "index" / name).is_file():
                    shutil.copy2(old / "index" / name, folder / "index")
        _remove_all_but(kb, {folder.name})
    finally:
        os.close(lock)


def check_changes(kb: Path) -> None:
    """Raise :class:`KnowledgeBaseError` where the journal lacks changes of the base."""
    advice = (
        f"nothing was built. Restore {kb / JOURNAL_FILE} from a backup, or run "
        "`shiyi build --lose-changes` to build without them"
    )
    known = last_number(kb / JOURNAL_FILE)
    for folder in _current_bases(kb):
        try:
            store = OxigraphStore.read_only(folder / "store")
            try:
                changes = last_applied(store)
            finally:
                store.close()
        except (KnowledgeBaseError, OSError, RuntimeError) as fault:
            if known:  # the journal holds every change, before the store does
                continue
            raise KnowledgeBaseError(
                f"the changes in {folder} cannot be counted ({fault}), and there is no journal; "
                f"{advice}"
            ) from fault
        if changes > known:
            raise KnowledgeBaseError(
                f"{kb} has {changes} acknowledged changes, of which the journal has {known}; "
                f"{advice}"
            )


def compute_release(quads: Iterable[Quad]) -> str:
    """Return the SHA-256 of the sorted N-Quads lines of a base, ``sha256:…``.

    Quads with blank nodes stay out, since their labels carry no meaning.
    """
    lines = set(n_quads(quads).splitlines(keepends=True))
    digest = hashlib.sha256()
    for line in sorted(lines):
        if b"_:" not in line or not any(map(has_blank_node, parse_n_quads(line))):
            digest.update(line)
    return f"sha256:{digest.hexdigest()}"


def _fill(
    kb: Path,
    folder: Path,
    quads: tuple[Quad, ...],
    counts: Mapping[str, int],
    prepare: Prepare | None,
) -> str:
    release = compute_release(quads)
    changed = last_number(kb / JOURNAL_FILE) > 0
    place = folder / ("store.part" if changed else "store")
    store = OxigraphStore.on_disk(place)
    try:
        store.load_quads(quads)
        for record in read_journal(kb / JOURNAL_FILE):
            apply(store, record)
        if prepare:
            prepare(store, folder)
        if changed:  # changes leave room between what was loaded
            store.pack(folder / "store")
        store.flush()
        count = len(store)
    finally:
        store.close()
    if changed:
        shutil.rmtree(place)
    manifest = {
        "release": release, "counts": dict(counts), "quads": count,
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")
    return release


def _current_bases(kb: Path) -> list[Path]:
    """Return the base that ``CURRENT`` names; where it names none, all: one of them was current."""
    whole = [path.parent for path in sorted(kb.glob("generations/*/store"))]
    with suppress(FileNotFoundError):
        name = (kb / "CURRENT").read_text(encoding="utf-8", errors="replace").strip()
        return [path for path in whole if path.name == name] or whole
    return whole


def _remove_all_but(kb: Path, names: set[str]) -> None:
    """Remove dead builds and bases older than the current one, which becomes the previous."""
    for folder in (kb / "generations").iterdir():
        if folder.name not in names:
            shutil.rmtree(folder)


_NOTHING: Final = NamedNode("urn:shiyi:nothing")


def open_remote(settings: Settings, release: str, write: bool) -> RemoteStore:
    """Open the remote store of the settings and make sure that it can do what is asked of it.

    Raise OutsideError for a fault of the store, IndexMismatchError for another release.
    """
    store = RemoteStore(settings.store, settings.remote)
    try:
        check_reading(store)
        if write:
            check_writing(store)
        stored = stored_release(store)
        if stored != release:
            raise IndexMismatchError(
                f"{settings.store} holds {stored or 'no release of Shiyi'}, the folder "
                f"{settings.kb} has the indexes of {release}; "
                "run `shiyi build` to put this release there"
            )
    except BaseException:
        store.close()
        raise
    return store


def check_reading(store: RemoteStore) -> None:
    """Ask what every part of Shiyi asks; OutsideError says what the store cannot do."""
    there, lowered = store.endpoint.address, store.settings.profile == "rdf11"
    if not store.endpoint.holds("ASK {}"):
        raise OutsideError(f"{there} does not hold that ASK {{}} is true: it is no SPARQL endpoint")
    if lowered:
        return
    try:
        known = store.endpoint.holds(
            "ASK { BIND(<<( <urn:a> <urn:b> 1 )>> AS ?t) FILTER(ISTRIPLE(?t)) }"
        )
    except (QueryError, OutsideError) as fault:
        raise OutsideError(
            f'{there} knows no triple terms of RDF 1.2 ({fault}); set remote.profile = "rdf11"'
        ) from fault
    if not known:
        raise OutsideError(f'{there} drops triple terms; set remote.profile = "rdf11"')


def check_writing(store: RemoteStore) -> None:
    """Make a change that changes nothing; OutsideError where the store takes none."""
    nothing = Quad(_NOTHING, _NOTHING, _NOTHING, NOTE)
    try:
        store.change(remove=[nothing])
    except QueryError as fault:
        raise OutsideError(
            f"no SPARQL 1.1 at {store.endpoint.update_address} ({fault}); set remote.update to "
            "the address that takes updates"
        ) from fault


def stored_release(store: RemoteStore) -> str:
    """Return the release that a remote store says it holds, or nothing.

    OutsideError where that note shows in the default graph, since then every claim that
    was rejected would show there too.
    """
    results = [
        q.object.value
        for q in store.match(NOTE, DCTERMS.identifier, None, NOTE)
        if isinstance(q.object, Literal)
    ]
    if results and any(True for _ in store.match(NOTE, None, None, DefaultGraph())):
        raise OutsideError(
            f"the default graph of {store.endpoint.address} is the union of all graphs; set "
            "remote.default_graph to an IRI of your own, or turn that off in the store"
        )
    return results[0] if results else ""


def push(store: RemoteStore, quads: Iterable[Quad], release: str) -> bool:
    """Place a release into a remote store; False where it is there already.

    What the store stored of an earlier release goes first; other graphs in it stay. The note of the
    release comes last, so an interrupted push is detected and repeated.
    """
    check_reading(store)
    check_writing(store)
    if stored_release(store) == release:
        return False
    store.clear()
    store.load_quads(quads)
    store.change([Quad(NOTE, DCTERMS.identifier, Literal(release), NOTE)])
    stored_release(store)
    return True


@dataclass(slots=True)
class KnowledgeBase:
    """An open knowledge base: ``release`` names its base, ``folder`` holds its index files.

    A reader has a snapshot of the moment of opening, so it never stands in a writer's way.
    """

    path: Path
    folder: Path
    manifest: Mapping[str, Any]
    store: WritableStore
    snapshot: Snapshot | None = None
    _writer: Writer | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path, write: bool = False) -> Self:
        """Open what ``shiyi build`` made in ``path``; one process at a time may ``write``."""
        with failures(path):
            folder = current_generation(path)
            manifest = _manifest(path, folder)
            if write:
                writer = Writer.open(path, folder / "store")
                return cls(path, folder, manifest, writer.store, _writer=writer)
            snapshot = Snapshot.of_folder(folder / "store", path / "snapshots")
            return cls(path, folder, manifest, OxigraphStore.read_only(snapshot.path), snapshot)

    @classmethod
    def of(cls, settings: Settings, write: bool = False) -> Self:
        """Open the knowledge base of the settings: in a folder, or with a remote store.

        OutsideError where the remote store cannot do what is asked of it.
        """
        if not settings.store:
            return cls.open(settings.kb, write)

        folder = current_generation(settings.kb)
        manifest = _manifest(settings.kb, folder)
        store = open_remote(settings, str(manifest["release"]), write)
        try:
            writer = Writer.open(settings.kb, folder / "store", store) if write else None
        except BaseException:
            store.close()
            raise
        return cls(settings.kb, folder, manifest, store, _writer=writer)

    @property
    def is_remote(self) -> bool:
        """Return whether the quads lie in a remote store."""
        return not isinstance(self.store, OxigraphStore)

    @property
    def is_shared(self) -> bool:
        """Return whether others may write to the store, past the journal."""
        return isinstance(self.store, RemoteStore) and self.store.settings.shared

    @property
    def release(self) -> str:
        """Return the digest of the base, ``sha256:…``; what was written since is not in it."""
        return str(self.manifest["release"])

    @property
    def writer(self) -> Writer:
        """Return the one writer; a knowledge base opened for reading has none."""
        if self._writer is None:
            raise KnowledgeBaseError(f"{self.path} is open for reading; open it with write=True")
        return self._writer

    @property
    def writes(self) -> bool:
        """Return whether the knowledge base is open for writing."""
        return self._writer is not None

    @property
    def sequence(self) -> int:
        """Count the journal records that the store has applied."""
        return self._writer.sequence if self._writer else 0

    def take_snapshot(self) -> Snapshot:
        """Make a snapshot of this moment, for processes that only read."""
        if not isinstance(self.store, OxigraphStore):
            raise KnowledgeBaseError("a remote store has no snapshots; ask it through RemotePool")
        home = self.path / "snapshots"
        if self.snapshot:
            return Snapshot.of_folder(self.snapshot.path, home)
        with self.writer.frozen():
            return Snapshot.of_store(self.store, home)

    def close(self) -> None:
        """Release files and locks; closing twice does no harm."""
        self.store.close()
        if self._writer:
            self._writer.close()
        if self.snapshot:
            self.snapshot.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()


def current_generation(path: Path) -> Path:
    """Return the folder that ``CURRENT`` names."""
    try:
        name = (path / "CURRENT").read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path} holds no knowledge base; run `shiyi build`") from None
    folder = path / "generations" / name
    if not name or Path(name).name != name or not (folder / "store").is_dir():
        raise KnowledgeBaseError(f"{path} names no whole generation; {REPAIR}")
    return folder


def _manifest(path: Path, folder: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError) as fault:
        raise KnowledgeBaseError(f"{path} is half-built ({fault}); {REPAIR}") from fault
    if not isinstance(manifest, dict) or not isinstance(manifest.get("release"), str):
        raise KnowledgeBaseError(f"{path} has a damaged manifest; {REPAIR}")
    return MappingProxyType(manifest)
