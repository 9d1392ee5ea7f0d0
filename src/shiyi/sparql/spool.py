"""A body that may be long: in memory while it is short, then in a file that has no name."""

import hashlib
import tempfile
from collections.abc import Iterator
from typing import IO, Final, Self

KEPT: Final = 1 << 20  # bytes kept in memory
_PART: Final = 1 << 18  # bytes read at a time


class Spool:
    """Takes bytes in parts and gives them back in parts, at constant memory.

    >>> with Spool() as spool:
    ...     spool.add(b"one ")
    ...     spool.add(b"two")
    ...     spool.size, b"".join(spool.parts())
    (7, b'one two')
    """

    def __init__(self, kept: int = KEPT) -> None:
        self.size = 0
        self._kept, self._memory = kept, bytearray()
        self._file: IO[bytes] | None = None
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, part: bytes) -> None:
        """Take one more part."""
        self.size += len(part)
        self._hash.update(part)
        if self._file is None and self.size > self._kept:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
            self._file.write(self._memory)
            self._memory = bytearray()
        if self._file is None:
            self._memory += part
        else:
            self._file.write(part)

    @property
    def digest(self) -> str:
        """Give a hash of all that was added, in hexadecimal digits."""
        return self._hash.hexdigest()

    @property
    def is_short(self) -> bool:
        """Tell whether all of it is in memory."""
        return self._file is None

    def parts(self) -> Iterator[bytes]:
        """Yield the bytes from the beginning."""
        if self._file is None:
            yield bytes(self._memory)
            return
        self._file.seek(0)
        while part := self._file.read(_PART):
            yield part

    def read(self) -> bytes:
        """Give all bytes at once."""
        return b"".join(self.parts())

    def close(self) -> None:
        """Let go of the file; twice does no harm."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()
