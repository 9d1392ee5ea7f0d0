"""SHA-256 digests of the indexes and tables of a generation.

A build notes those of its files, a writer those of the tables that came while it had the store
open. Nobody else notes any: a digest taken later would make damage that came before look sound.
"""

import hashlib
import json
import threading
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from shiyi.sparql.store.files import replace_file

DIGESTS: Final = "digests.json"  # beside the indexes
_TURN: Final = threading.Lock()


def note_digests(generation: Path) -> int:
    """Note the digests of a generation that was just built; return how many."""
    indexes = sorted(path for path in (generation / "index").iterdir() if has_digest(path))
    return _note(generation, [*tables(generation), *indexes, generation / "manifest.json"], {})


def has_digest(index: Path) -> bool:
    """Return whether a digest is noted of a path beside the indexes.

    Counts (``index/*.json``) and the indexes of another embedder, in a folder, have none.
    """
    return index.is_file() and index.suffix != ".json"


def update_digests(generation: Path, names: Iterable[str]) -> None:
    """Update the digests of rewritten indexes, where those of a build are recorded."""
    with _TURN:
        if (generation / "index" / DIGESTS).exists():
            files = [generation / "index" / name for name in names]
            _note(generation, files, read_digests(generation))


def note_tables(generation: Path, earlier: Collection[Path]) -> None:
    """Note the digests of the tables of a closed store that were not there ``earlier``."""
    with _TURN:
        if not (generation / "index" / DIGESTS).exists():
            return
        now = tables(generation)
        known = {
            path: digest
            for path, digest in read_digests(generation).items()
            if path.suffix != ".sst" or path in now
        }
        if new := [each for each in now if each not in known and each not in earlier]:
            _note(generation, new, known)


def read_digests(generation: Path) -> dict[Path, str]:
    """Return the noted digest of each file; ValueError where the list is damaged."""
    path = generation / "index" / DIGESTS
    if not path.exists():
        return {}
    noted = json.loads(path.read_text("utf-8"))
    if not isinstance(noted, dict):
        raise ValueError("it is no object of JSON")  # noqa: TRY004 - of a file
    return {generation / str(name): str(digest) for name, digest in noted.items()}


def tables(generation: Path) -> list[Path]:
    """Return the tables of a generation's store."""
    return sorted((generation / "store").glob("*.sst"))


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note(generation: Path, files: Iterable[Path], known: dict[Path, str]) -> int:
    every = known | {path: file_digest(path) for path in files}
    listed = {path.relative_to(generation).as_posix(): digest for path, digest in every.items()}
    replace_file(generation / "index" / DIGESTS, (json.dumps(listed, indent=1) + "\n").encode())
    return len(listed)
