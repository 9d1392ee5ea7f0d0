"""Generations: a new base is built beside the old one, and takes its place at once."""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from shiyi.model.rdf import BlankNode, Quad, Triple
from shiyi.sparql.durable import replace_file, sync_folder, sync_tree
from shiyi.sparql.journal import read_journal
from shiyi.sparql.oxigraph import OxigraphStore, n_quads
from shiyi.sparql.writer import JOURNAL_FILE, apply, take_lock

Prepare = Callable[[OxigraphStore, Path], None]


def build_generation(
    kb: Path,
    quads: Iterable[Quad],
    counts: Mapping[str, int],
    prepare: Prepare | None = None,
) -> str:
    """Build a base from ``quads``, repeat the journal on it, and make it current; give its release.

    ``prepare`` adds what is computed from the base (derived graph, index files) before readers
    see it. Killed at any moment, it leaves the old base; the next build removes what is left.
    """
    (kb / "generations").mkdir(parents=True, exist_ok=True)
    lock = take_lock(kb)
    try:
        old = _current_name(kb)
        _remove_all_but(kb, {old})
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
        folder = kb / "generations" / name
        release = _fill(kb, folder, tuple(quads), counts, prepare)
        sync_folder(kb / "generations")
        replace_file(kb / "CURRENT", f"{name}\n".encode())
    finally:
        os.close(lock)
    return release


def release_of(quads: Iterable[Quad]) -> str:
    """Give the SHA-256 of the sorted N-Quads lines of a base, ``sha256:…``.

    Quads with blank nodes stay out, since their labels are not part of what is said.
    """
    named = (quad for quad in quads if not _has_blank(quad))
    lines = set(n_quads(named).splitlines(keepends=True))
    digest = hashlib.sha256()
    for line in sorted(lines):
        digest.update(line)
    return f"sha256:{digest.hexdigest()}"


def _fill(
    kb: Path,
    folder: Path,
    quads: tuple[Quad, ...],
    counts: Mapping[str, int],
    prepare: Prepare | None,
) -> str:
    (folder / "index").mkdir(parents=True)
    release = release_of(quads)
    loose = folder / "store.part"
    store = OxigraphStore.on_disk(loose)
    try:
        store.load_quads(quads)
        for record in read_journal(kb / JOURNAL_FILE):
            apply(store, record)
        if prepare:
            prepare(store, folder)
        store.pack(folder / "store")
        held = len(store)
    finally:
        store.close()
    shutil.rmtree(loose)
    manifest = {
        "release": release, "counts": dict(counts), "quads": held,
        "built": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8")
    sync_tree(folder)
    return release


def _current_name(kb: Path) -> str:
    try:
        return (kb / "CURRENT").read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""


def _remove_all_but(kb: Path, kept: set[str]) -> None:
    """Remove dead builds and bases older than the current one, which becomes the previous."""
    for folder in (kb / "generations").iterdir():
        if folder.name not in kept:
            shutil.rmtree(folder)


def _has_blank(quad: Quad) -> bool:
    return any(_blank_terms(quad.subject, quad.object, quad.graph_name))


def _blank_terms(*terms: object) -> Iterator[object]:
    for term in terms:
        if isinstance(term, Triple):
            yield from _blank_terms(term.subject, term.object)
        elif isinstance(term, BlankNode):
            yield term
