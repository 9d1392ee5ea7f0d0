"""Paths of the files that are not Python: vocabulary, tables, shapes, queries, prompts, pages."""

from pathlib import Path

_HERE = Path(__file__).parent
_CHECKOUT = Path(__file__).parents[2]


def artefact(path: str) -> Path:
    """Return the place of ``path`` in the installed wheel, or in the checkout.

    >>> artefact("ontology/shiyi.ttl").name
    'shiyi.ttl'
    """
    shipped = _HERE / "_artefacts"
    return (shipped if shipped.is_dir() else _CHECKOUT) / path
