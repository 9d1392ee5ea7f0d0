"""The forms, sounds and keys of all names as one file, so that none is made again at opening."""

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from shiyi.errors import IndexMismatchError
from shiyi.linking.complete import Completer
from shiyi.linking.dictionary import Dictionary
from shiyi.linking.labels import LabelIndex
from shiyi.linking.near import NearNames
from shiyi.model.mapped import Mapped, write

FILE: Final = "names.safetensors"
_FORMAT: Final = "2"
# what the forms are made by; where one of them changes, they are made again
_MAKERS: Final = (
    "chunks", "complete", "context", "dictionary", "groups", "labels", "near", "normalise", "pinyin",
    "surfaces",
)  # fmt: skip


def write_names(index: LabelIndex, folder: Path) -> Path:
    """Write what :func:`open_names` opens."""
    dictionary = Dictionary(index)
    arrays = dictionary.arrays() | NearNames(dictionary).arrays()
    del dictionary
    arrays |= Completer(index).arrays()
    return write(folder / FILE, arrays, format=_FORMAT, release=index.release, makers=_makers())


def open_names(folder: Path, index: LabelIndex) -> Mapped | None:
    """Open what was written for an index; None where there is none, or of other making."""
    try:
        made = Mapped.open(folder / FILE, format=_FORMAT, release=index.release, makers=_makers())
    except IndexMismatchError:
        return None
    return made


@cache
def _makers() -> str:
    """Give the digest of the code and word lists that say which forms a name has."""
    home = resources.files("shiyi.linking")
    lists = sorted(each.name for each in home.joinpath("words").iterdir())
    files = [home.joinpath(f"{name}.py") for name in _MAKERS]
    files += [home.joinpath("words", name) for name in lists if name.endswith((".txt", ".py"))]
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()
