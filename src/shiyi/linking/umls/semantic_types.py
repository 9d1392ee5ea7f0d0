"""Semantic types allowed for each class, of ``ontology/lexicon/semantic-types.tsv``."""

from functools import cache

from shiyi.ontology.lexicon import rows

# open crosswalks tell no semantic type; what they list stands for these of our classes
INGREDIENTS, DISEASES = "ingredient", "disease"
_STANDING_FOR = {
    INGREDIENTS: frozenset(
        {"DSIngredient", "DSProduct", "MFHSubstance", "Food", "Herb", "Organism"}
    ),
    DISEASES: frozenset({"Disease", "TCMDisease", "Symptom", "EmergencySign"}),
}  # fmt: skip


@cache
def _types() -> dict[str, frozenset[str]]:
    return {kind: frozenset(types.split()) for kind, types in rows("semantic-types")}


def accepts(kind: str, types: frozenset[str]) -> bool:
    """Return whether a name with these semantic types may mean a concept of class ``kind``.

    Any one type is enough, as in QuickUMLS; no ``kind`` accepts all, an unknown one none.

    >>> accepts("Disease", frozenset({"T047"})), accepts("Drug", frozenset({"T047"}))
    (True, False)
    """
    if not kind:
        return True
    if not _types().get(kind, frozenset()).isdisjoint(types):
        return True
    return any(kind in _STANDING_FOR.get(each, ()) for each in types)
