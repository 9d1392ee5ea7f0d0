"""What the knowledge base holds, in numbers."""

from collections import Counter

from shiyi.publishing.tables import concept_rows
from shiyi.sparql.store import QuadStore


def coverage(store: QuadStore) -> dict[str, dict[str, int]]:
    """Count concepts and those with a CUI, by class."""
    concepts, mapped = Counter[str](), Counter[str]()
    for each in concept_rows(store).values():
        concepts[each["class"]] += 1
        mapped[each["class"]] += bool(each.get("cui"))
    return {
        name: {"concepts": count, "with_cui": mapped[name]}
        for name, count in sorted(concepts.items())
    }
