"""Size and decompression limits of outside files."""

import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from shiyi.errors import TooLargeError, UsageError

UNPACKED = 8 << 30  # bytes of a whole collection, packed or not
_BOMS = (("utf-8-sig", b"\xef\xbb\xbf"), ("utf-16", b"\xff\xfe"), ("utf-16", b"\xfe\xff"))


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, unpacking ``.gz`` and ``.xz`` as it is read."""
    try:
        if path.suffix == ".gz":
            return cast("BinaryIO", gzip.open(path, "rb"))
        if path.suffix == ".xz":
            return cast("BinaryIO", lzma.open(path, "rb"))
        return path.open("rb")
    except OSError as fault:
        raise UsageError(f"{path} cannot be read: {fault.strerror}") from fault


def read_bytes(path: Path, limit: int) -> bytes:
    """Read a whole file of at most ``limit`` bytes, unpacked."""
    with open_bytes(path) as file:
        try:
            content = file.read(limit + 1)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as fault:
            raise UsageError(f"{path} is damaged or cannot be read: {fault}") from fault
    if len(content) > limit:
        raise TooLargeError(str(path), len(content), limit, "bytes or more")
    return content


def lines(path: Path, limit: int) -> Iterator[bytes]:
    """Yield the lines of a collection, each of at most ``limit`` bytes, one in memory at a time."""
    total = 0
    with open_bytes(path) as file:
        while True:
            try:
                line = file.readline(limit + 1)
            except (OSError, EOFError, lzma.LZMAError, zlib.error) as fault:
                raise UsageError(f"{path} is damaged or cannot be read: {fault}") from fault
            if not line:
                return
            total += len(line)
            if len(line) > limit:
                raise TooLargeError(f"a line of {path}", len(line), limit, "bytes or more")
            if total > UNPACKED:
                raise TooLargeError(f"{path}, unpacked,", total, UNPACKED, "bytes or more")
            yield line


def decode(content: bytes, name: str) -> str:
    """Decode text in UTF-8, UTF-16 with its mark, or GB18030, which holds GBK and GB2312.

    >>> decode("süß".encode("gb18030"), "a.txt"), decode("süß".encode(), "a.txt")
    ('süß', 'süß')
    """
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UsageError(f"{name} is not text: it has zero bytes")
    marked = next((encoding for encoding, mark in _BOMS if content.startswith(mark)), "")
    for encoding in (marked,) if marked else ("utf-8", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise UsageError(f"{name} is neither UTF-8 nor GB18030; save it as UTF-8")
