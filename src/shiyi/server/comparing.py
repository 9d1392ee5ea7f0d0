"""Two to four things side by side: the same relations in the same rows, safety first."""

from dataclasses import dataclass
from typing import Final

from shiyi.errors import UsageError
from shiyi.model.names import ID
from shiyi.model.rdf import NamedNode
from shiyi.server.concept_view import THEMES, ConceptView, Group, concept_view, is_concept
from shiyi.server.reading import Reader

MOST: Final = 4
_ROWS: Final = {
    "safety": THEMES["safety"], "nature": THEMES["nature"],
    "benefit": ("hasEfficacy", "indicatedFor", "isEffectiveFor", "relieves", "primaryEffect"),
    "composition": ("hasActiveConstituent", "hasNutrient", "hasIngredient", "usesPart"),
    "standing": ("regulatoryStatus", "hasTherapeuticClass"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One relation; a cell for each thing compared, None where nothing is recorded."""

    heading: str
    cells: tuple[Group | None, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The things compared, and their rows by theme."""

    views: tuple[ConceptView, ...]
    bands: tuple[tuple[str, tuple[Row, ...]], ...]


def named(reader: Reader, ids: str) -> list[NamedNode]:
    """Read ``ids``, local names separated by commas; UsageError for an unknown or a fifth one."""
    names = list(dict.fromkeys(name.strip() for name in ids.split(",") if name.strip()))
    if len(names) > MOST:
        raise UsageError(f"ids names {len(names)} things; at most {MOST} can be compared")
    nodes = []
    for name in names:
        fits = all(c.isalnum() or c in "-_~." for c in name) and name.isascii()
        node = NamedNode(ID + name) if fits else None
        if node is None or not is_concept(reader, node):
            raise UsageError(f"ids names no concept with {name[:60]!r}")
        nodes.append(node)
    return nodes


def comparison(reader: Reader, nodes: list[NamedNode]) -> Comparison:
    """Put what is recorded of ``nodes`` side by side."""
    views = tuple(concept_view(reader, node) for node in nodes)
    found = [
        {(each.predicate, each.forward): each for _, groups in view.themes for each in groups}
        for view in views
    ]
    bands = []
    for theme, names in _ROWS.items():
        rows = []
        for key in ((name, True) for name in names):
            cells = tuple(groups.get(key) for groups in found)
            if heads := [each.heading for each in cells if each is not None]:
                rows.append(Row(heads[0], cells))
        if rows:
            bands.append((theme, tuple(rows)))
    return Comparison(views, tuple(bands))
