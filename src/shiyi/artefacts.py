"""The language-neutral half of the project: vocabulary, tables, shapes, queries, prompts, pages."""

from pathlib import Path

_HERE = Path(__file__).parent
_CHECKOUT = Path(__file__).parents[2]


def artefact(path: str) -> Path:
    """Find ``path`` where the wheel put it, or in the checkout we run from.

    >>> artefact("ontology/shiyi.ttl").name
    'shiyi.ttl'
    """
    shipped = _HERE / "_artefacts"
    return (shipped if shipped.is_dir() else _CHECKOUT) / path
