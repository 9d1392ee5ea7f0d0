"""Reading a whole base through, to find damage before somebody needs what is damaged."""

import hashlib
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from shiyi.errors import KnowledgeBaseError
from shiyi.sparql.durable import replace_file
from shiyi.sparql.journal import read_journal
from shiyi.sparql.knowledge_base import KnowledgeBase, current_generation
from shiyi.sparql.writer import JOURNAL_FILE

_SETTLED: Final = 2.0  # seconds without a change after which a table is whole
DIGESTS: Final = "digests.json"  # beside the indexes; of the files a build made


@dataclass(slots=True)
class Scrubbed:
    """How much was read, and what is damaged."""

    quads: int = 0
    records: int = 0
    files: int = 0
    damages: list[str] = field(default_factory=list)


def note_digests(generation: Path) -> int:
    """Note the SHA-256 of the indexes and tables of a generation that was just built."""
    return _note(generation, _built(generation), {})


def note_again(generation: Path, names: Iterable[str]) -> None:
    """Note the SHA-256 of some indexes that were written anew, where those of a build are noted."""
    if (generation / "index" / DIGESTS).exists():
        known = {path.relative_to(generation).as_posix(): digest
                 for path, digest in _noted(generation, Scrubbed())}  # fmt: skip
        _note(generation, [generation / "index" / name for name in names], known)


def _note(generation: Path, files: Iterable[Path], known: dict[str, str]) -> int:
    said = known | {path.relative_to(generation).as_posix(): _digest(path) for path in files}
    replace_file(generation / "index" / DIGESTS, (json.dumps(said, indent=1) + "\n").encode())
    return len(said)


def scrub(kb: Path) -> Scrubbed:
    """Read every quad, every journal record and every file that a build noted the digest of.

    Works beside a server that writes. A table that has been compacted away since is no damage.
    Tables never change, so one that came since the build is noted when it is first read without
    fault; until then only what its own checksums cover and a reading touches is looked at.
    """
    found, began = Scrubbed(), time.time()
    try:
        generation = current_generation(kb)
        with KnowledgeBase.open(kb) as base:
            for _ in base.store.match():
                found.quads += 1
    except (KnowledgeBaseError, OSError, RuntimeError) as fault:
        found.damages.append(f"store: {fault}")
        return found
    try:
        for _ in read_journal(kb / JOURNAL_FILE):
            found.records += 1
    except KnowledgeBaseError as fault:
        found.damages.append(f"journal: {fault}")
    noted = dict(_noted(generation, found))
    for path, digest in noted.items():
        if not path.exists():
            if path.suffix != ".sst":
                found.damages.append(f"{path.name} is missing; run `shiyi build`")
            continue
        found.files += 1
        if _digest(path) != digest:
            found.damages.append(f"{path} is not what the build made; restore it from a backup")
    if not found.damages:
        with suppress(PermissionError):  # a base one may only read
            _note_later(generation, noted, began)
    return found


def _note_later(generation: Path, noted: dict[Path, str], began: float) -> None:
    """Add the tables that came since; one a server is just writing is left for the next time."""
    later = [
        path for path in (generation / "store").glob("*.sst")
        if path not in noted and path.stat().st_mtime < began - _SETTLED
    ]  # fmt: skip
    if later:
        known = {path.relative_to(generation).as_posix(): said for path, said in noted.items()}
        _note(generation, later, known)


def _noted(generation: Path, found: Scrubbed) -> Iterator[tuple[Path, str]]:
    path = generation / "index" / DIGESTS
    if not path.exists():
        return
    try:
        said = json.loads(path.read_text("utf-8"))
        yield from ((generation / str(name), str(digest)) for name, digest in said.items())
    except (ValueError, AttributeError) as fault:
        found.damages.append(f"{path} is damaged: {fault}")


def _built(generation: Path) -> Iterator[Path]:
    yield from sorted((generation / "store").glob("*.sst"))
    yield from sorted(
        p for p in (generation / "index").iterdir() if p.is_file() and p.name != DIGESTS
    )
    yield generation / "manifest.json"


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
