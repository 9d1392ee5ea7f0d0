"""SUBJECT(), PREDICATE(), OBJECT(), TRIPLE() as extension functions.

Parsers that know SPARQL 1.1 only take them: ``shiyi:subject(?statement)``.
"""

from collections.abc import Callable
from typing import Any, Final

from pyoxigraph import NamedNode, Triple

_VOCAB: Final = "https://w3id.org/shiyi/vocab#"


def _part(name: str) -> Callable[[Any], Any]:
    return lambda term: getattr(term, name, None) if isinstance(term, Triple) else None


def _triple(subject: Any, predicate: Any, object_: Any) -> Triple | None:
    try:
        return Triple(subject, predicate, object_)
    except TypeError:  # a literal in a wrong place leaves the variable unbound
        return None


FUNCTIONS: Final[dict[NamedNode, Callable[..., Any]]] = {
    **{NamedNode(_VOCAB + name): _part(name) for name in ("subject", "predicate", "object")},
    NamedNode(f"{_VOCAB}triple"): _triple,
}
