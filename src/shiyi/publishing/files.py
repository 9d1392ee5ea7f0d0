"""Files written once, counted and hashed."""

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, cast

from shiyi.publishing.void import Distribution

KINDS: Final = {
    "nq": "application/n-quads", "trig": "application/trig", "ttl": "text/turtle",
    "jsonld": "application/ld+json", "csv": "text/csv", "tsv": "text/tab-separated-values",
    "json": "application/json", "md": "text/markdown", "cff": "application/yaml",
    "jsonl": "application/jsonl", "yaml": "application/yaml",
}  # fmt: skip
SUMS: Final = "SHA256SUMS"
_LEVEL: Final = 6


def media_type(name: str) -> str:
    """Return the media type of a file by its name, packed or not.

    >>> media_type("rdf12/shiyi.nq.gz")
    'application/n-quads'
    """
    return KINDS.get(name.removesuffix(".gz").rpartition(".")[2], "text/plain")


@dataclass(slots=True)
class ReleaseFiles:
    """The files written into ``folder`` so far; ``url`` is the folder's published address."""

    folder: Path
    url: str
    listed: dict[str, Distribution] = field(default_factory=dict)

    def stream(self, name: str, title: str, write: Callable[[IO[bytes]], None]) -> None:
        """Write a file by ``write``, compressed and without a date where it ends in ``.gz``."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            if name.endswith(".gz"):
                with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:
                    write(cast("IO[bytes]", packed))
            else:
                write(file)
        self.note(name, title)

    def write(self, name: str, title: str, content: bytes | str) -> None:
        """Write a small file at once."""
        data = content.encode() if isinstance(content, str) else content
        self.stream(name, title, lambda file: (file.write(data), None)[1])

    def write_json(self, name: str, title: str, value: object) -> None:
        """Write a small file of JSON."""
        self.write(name, title, json.dumps(value, ensure_ascii=False, indent=1) + "\n")

    def note(self, name: str, title: str) -> None:
        """List a file that stands in the folder."""
        path = self.folder / name
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        self.listed[name] = Distribution(
            self.url + name,
            media_type(name),
            path.stat().st_size,
            digest,
            title,
            name.endswith(".gz"),
        )

    def sums(self) -> str:
        """Return the lines that ``sha256sum -c`` reads."""
        return "".join(f"{each.sha256}  {name}\n" for name, each in sorted(self.listed.items()))
