"""Short texts packed by what many of them share, each read on its own."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from shiyi.errors import IndexMismatchError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_SHARED: Final = 65_536  # bytes of the dictionary, more than which gain little
_FEWEST: Final = 1_000  # texts, below which there is nothing worth sharing
_OPTIONS: Final[Mapping[int, int]] = {
    zstd.CompressionParameter.compression_level: 9,  # slower ones gain a twentieth
    zstd.CompressionParameter.dict_id_flag: 0,  # four bytes of each text; the dictionary is known
}


@dataclass(frozen=True, slots=True)
class Shortened:
    """What texts share, by which each takes half the room; nothing where they are too few.

    >>> few = Shortened.of(["goji", "姜"])
    >>> few.short("goji"), few.text("goji")
    ('goji', 'goji')
    """

    shared: zstd.ZstdDict | None

    @classmethod
    def of(cls, sample: Sequence[str]) -> Self:
        """Learn from some texts what they and those like them share."""
        if len(sample) < _FEWEST:
            return cls(None)
        return cls(zstd.train_dict([each.encode() for each in sample], _SHARED))

    @classmethod
    def over(cls, written: bytes) -> Self:
        """Take what :attr:`written` gave; IndexMismatchError where it is nothing of the kind."""
        try:
            return cls(zstd.ZstdDict(written) if written else None)
        except (ValueError, zstd.ZstdError) as fault:
            raise IndexMismatchError(
                f"what texts share is damaged ({fault}): build again"
            ) from fault

    @property
    def written(self) -> bytes:
        """Give what is shared as bytes, none where nothing is."""
        return bytes(self.shared.dict_content) if self.shared else b""

    def short(self, text: str) -> str | bytes:
        """Pack a text."""
        if self.shared is None:
            return text
        shared = self.shared.as_digested_dict
        return zstd.compress(text.encode(), options=_OPTIONS, zstd_dict=shared)

    def text(self, held: str | bytes) -> str:
        """Give a text back, packed or not; IndexMismatchError where it is damaged."""
        if isinstance(held, str):
            return held
        try:
            return zstd.decompress(held, zstd_dict=self.shared).decode()
        except (zstd.ZstdError, ValueError) as fault:
            raise IndexMismatchError(f"a text is damaged ({fault}): build again") from fault
