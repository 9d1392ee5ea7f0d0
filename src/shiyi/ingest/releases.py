"""How often what a source said was taken back, since what was may be ingested again."""

from collections.abc import Callable

from shiyi.sparql.journal import Journal


def forget_key(name: str, version: str, times: int) -> str:
    """Name the change that ends the ``times``-th forgetting of a release."""
    return f"forgot {name}@{version} {times}"


def sweep_key(name: str, times: int) -> str:
    """Name the change that begins the ``times``-th sweep of a source in any version."""
    return f"sweep {name} {times}"


def taken_back(journal: Journal, name: str, version: str) -> int:
    """Count forgettings and sweeps; a batch of what came later has this number in its key."""
    return _count(journal, lambda times: forget_key(name, version, times)) + swept(journal, name)


def swept(journal: Journal, name: str) -> int:
    """Count the sweeps of a source."""
    return _count(journal, lambda times: sweep_key(name, times))


def _count(journal: Journal, key: Callable[[int], str]) -> int:
    times = 0
    while journal.find(key(times + 1)) is not None:
        times += 1
    return times
