"""Lists of words, one file each, that an editor may extend."""

from importlib import resources


def words(name: str) -> frozenset[str]:
    """Read one list; lines that begin with ``#`` are comments.

    >>> "drug" in words("generic")
    True
    """
    return frozenset(word for line in phrases(name) for word in line.split())


def phrases(name: str) -> tuple[str, ...]:
    """Read one list line by line.

    >>> "lily of the valley" in phrases("not-names")
    True
    """
    text = resources.files(__name__).joinpath(f"{name}.txt").read_text("utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))
