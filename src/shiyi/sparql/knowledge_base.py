"""A knowledge base on disk: which generation is current, and how it is opened."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from shiyi.errors import KnowledgeBaseError
from shiyi.settings import Settings
from shiyi.sparql.oxigraph import OxigraphStore
from shiyi.sparql.set_aside import SetAside
from shiyi.sparql.snapshots import Snapshot
from shiyi.sparql.store import WritableStore
from shiyi.sparql.writer import Writer
from shiyi.sparql.written import any_form


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
    _set_aside: SetAside | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path, write: bool = False) -> Self:
        """Open what ``shiyi build`` made in ``path``; one process at a time may ``write``."""
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
        from shiyi.sparql.remote_base import open_remote

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
        """Tell whether the quads lie in a remote store."""
        return not isinstance(self.store, OxigraphStore)

    @property
    def release(self) -> str:
        """Give the digest of the base, ``sha256:…``; what was written since is not in it."""
        return str(self.manifest["release"])

    @property
    def writer(self) -> Writer:
        """Give the one writer; a knowledge base opened for reading has none."""
        if self._writer is None:
            raise KnowledgeBaseError(f"{self.path} is open for reading; open it with write=True")
        return self._writer

    @property
    def writes(self) -> bool:
        """Tell whether the knowledge base is open for writing."""
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
        with self.writer.turn():
            if not any_form(self.store.match):
                self._let_go()
                return Snapshot.of_store(self.store, home)
            try:
                self._set_aside = self._set_aside or SetAside(self.writer, self.store, home)
                return self._set_aside.snapshot()
            except BaseException:
                self._let_go()
                raise

    def close(self) -> None:
        """Let go of files and locks; closing twice does no harm."""
        self._let_go()
        self.store.close()
        if self._writer:
            self._writer.close()
        if self.snapshot:
            self.snapshot.remove()

    def _let_go(self) -> None:
        if self._set_aside:
            self._set_aside.close()
            self._set_aside = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()


def current_generation(path: Path) -> Path:
    """Give the folder that ``CURRENT`` names."""
    try:
        name = (path / "CURRENT").read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        raise KnowledgeBaseError(f"{path} holds no knowledge base; run `shiyi build`") from None
    folder = path / "generations" / name
    if not name or Path(name).name != name or not (folder / "store").is_dir():
        raise KnowledgeBaseError(f"{path} names no whole generation; run `shiyi build`")
    return folder


def _manifest(path: Path, folder: Path) -> Mapping[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError) as fault:
        raise KnowledgeBaseError(f"{path} is half-built ({fault}); run `shiyi build`") from fault
    if not isinstance(manifest, dict) or not isinstance(manifest.get("release"), str):
        raise KnowledgeBaseError(f"{path} has a damaged manifest; run `shiyi build`")
    return MappingProxyType(manifest)
