"""Lists of words, one file each, that an editor may extend."""

from importlib import resources


def words(name: str) -> frozenset[str]:
    """Read one list; lines that begin with ``#`` are comments.

    >>> "drug" in words("generic")
    True
    """
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text("utf-8")
    kept = (line for line in text.splitlines() if not line.startswith("#"))
    return frozenset(word for line in kept for word in line.split())
