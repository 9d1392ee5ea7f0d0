"""Result formats and spooled result bodies."""

import hashlib
import io
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import IO, Final, Self

from typing_extensions import override

from shiyi.errors import FormatError

IN_MEMORY: Final = 1 << 20  # bytes in memory
_PART: Final = 1 << 18  # bytes read at a time


class Spool:
    """A buffer of bytes at constant memory, written and read in parts.

    >>> with Spool() as spool:
    ...     spool.add(b"one ")
    ...     spool.add(b"two")
    ...     spool.size, b"".join(spool.parts())
    (7, b'one two')
    """

    def __init__(self, limit: int = IN_MEMORY) -> None:
        self.size = 0
        self._limit, self._memory = limit, bytearray()
        self._file: IO[bytes] | None = None
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, part: bytes) -> None:
        """Accept one more part."""
        self.size += len(part)
        self._hash.update(part)
        if self._file is None and self.size > self._limit:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
            self._file.write(self._memory)
            self._memory = bytearray()
        if self._file is None:
            self._memory += part
        else:
            self._file.write(part)

    @property
    def digest(self) -> str:
        """Return a hash of all that was added, in hexadecimal digits."""
        return self._hash.hexdigest()

    @property
    def is_short(self) -> bool:
        """Return whether all of it is in memory."""
        return self._file is None

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes from the beginning."""
        if self._file is None:
            yield bytes(self._memory)
            return
        self._file.seek(0)
        while part := self._file.read(_PART):
            yield part

    def write(self, part: bytes) -> int:
        """Accept one more part, as a file does."""
        self.add(part)
        return len(part)

    def flush(self) -> None:
        """Do nothing: what was added can be read."""

    def open(self) -> IO[bytes]:
        """Return a file at the beginning of all that was added."""
        if self._file is None:
            return io.BytesIO(self._memory)
        self._file.seek(0)
        return self._file

    def read(self) -> bytes:
        """Return all bytes at once."""
        return b"".join(self.parts())

    def close(self) -> None:
        """Release the file; twice does no harm."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()


class LiveSpool(Spool):
    """A spool in a file that one thread reads while another still adds to it.

    What ended it, if an error did, is raised where the reader comes to the end.
    """

    def __init__(self) -> None:
        super().__init__()
        self._disk = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
        self._changed = threading.Condition()
        self._ended = self._closed = False
        self._fault: BaseException | None = None

    @override
    def add(self, part: bytes) -> None:
        with self._changed:
            if self._closed:
                raise BrokenPipeError("nobody reads this result any more")
            left = memoryview(part)
            while left:
                left = left[self._disk.write(left) :]
            self.size += len(part)
            self._changed.notify_all()

    def end(self, fault: BaseException | None = None) -> None:
        """State that nothing is added any more, and which error was the reason."""
        with self._changed:
            self._ended, self._fault = True, fault
            self._changed.notify_all()

    @property
    @override
    def is_short(self) -> bool:
        return False

    @override
    def parts(self) -> Iterator[bytes]:
        position = 0
        while part := self._next(position):
            position += len(part)
            yield part

    def _next(self, position: int) -> bytes:
        with self._changed:
            self._changed.wait_for(lambda: self.size > position or self._ended or self._closed)
            if self._closed:
                return b""
            if self.size > position:
                return os.pread(self._disk.fileno(), _PART, position)
            if self._fault is not None:
                raise self._fault
            return b""

    @override
    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._disk.close()
            self._changed.notify_all()


SOLUTION_TYPES: Final[Mapping[str, str]] = MappingProxyType({
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
})  # fmt: skip
GRAPH_TYPES: Final[Mapping[str, str]] = MappingProxyType({
    "ttl": "text/turtle",
    "nt": "application/n-triples",
    "nq": "application/n-quads",
    "trig": "application/trig",
    "rdf": "application/rdf+xml",
    "jsonld": "application/ld+json",
})  # fmt: skip
_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {media_type: name for name, media_type in (*SOLUTION_TYPES.items(), *GRAPH_TYPES.items())}
)


@dataclass(frozen=True, slots=True)
class ResultFormat:
    """The formats a client takes: one for solutions and booleans, one for graphs.

    An empty name means that the client accepts none; such a query raises ``FormatError``.

    >>> ResultFormat.of("csv")
    ResultFormat(solutions='csv', graph='')
    """

    solutions: str = "json"
    graph: str = "ttl"

    def __post_init__(self) -> None:
        if self.solutions and self.solutions not in SOLUTION_TYPES:
            raise FormatError("format of solutions", self.solutions, tuple(SOLUTION_TYPES))
        if self.graph and self.graph not in GRAPH_TYPES:
            raise FormatError("format of graphs", self.graph, tuple(GRAPH_TYPES))

    @classmethod
    def of(cls, name: str) -> "ResultFormat":
        """Accept results in the one format ``name`` and nothing else."""
        if name in GRAPH_TYPES:
            return cls("", name)
        if name in SOLUTION_TYPES:
            return cls(name, "")
        raise FormatError("format", name, (*SOLUTION_TYPES, *GRAPH_TYPES))

    @classmethod
    def of_type(cls, media_type: str) -> "ResultFormat":
        """Accept results of one media type and nothing else.

        >>> ResultFormat.of_type("text/csv")
        ResultFormat(solutions='csv', graph='')
        """
        return cls.of(_NAMES.get(media_type, media_type))


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A whole result: ``kind`` is ``solutions``, ``boolean`` or ``graph``.

    ``rows`` counts solutions or triples, 1 for a boolean.
    """

    media_type: str
    body: bytes
    kind: str
    rows: int


@dataclass(frozen=True, slots=True)
class StreamedResult:
    """A result in a spool, which the caller closes; of a ``LiveSpool`` the rows are not known."""

    media_type: str
    body: Spool
    kind: str
    rows: int
