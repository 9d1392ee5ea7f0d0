"""Semantic types allowed for each class."""

_INGREDIENT = frozenset([
    "T116", "T123", "T103", "T196", "T126", "T125", "T129", "T197", "T114", "T109", "T121", "T127",
    "T007", "T013", "T004", "T002", "T168", "T167",
])  # fmt: skip
_DISEASE = frozenset(
    ["T020", "T190", "T049", "T019", "T047", "T050", "T037", "T048", "T191", "T046"]
)
_DRUG = frozenset([
    "T116", "T195", "T123", "T122", "T103", "T200", "T126", "T125", "T129", "T197", "T114", "T109",
    "T121", "T167",
])  # fmt: skip
_CLASS = _DRUG | frozenset(
    [
        "T131",
        "T185",
        "T077",
        "T169",
        "T102",
        "T078",
        "T170",
        "T080",
        "T038",
        "T069",
        "T070",
        "T067",
        "T043",
        "T041",
        "T044",
        "T039",
    ]
)
_MATERIAL = frozenset(["T002", "T204", "T012", "T013", "T168", "T121"])

# the types after iDISK's document of concept types; those of Chinese medicine are Shiyi's.
# QuickUMLS leaves out T002, T168, T127 and T109 and so loses most foods and herbs.
SEMANTIC_TYPES = {
    "DSIngredient": _INGREDIENT,
    "DSProduct": _INGREDIENT,
    "Disease": _DISEASE,
    "TCMDisease": _DISEASE,
    "Symptom": _DISEASE | {"T033", "T184"},
    "EmergencySign": _DISEASE | {"T033", "T184"},
    "Drug": _DRUG,
    "DrugClass": _CLASS,
    "TherapeuticClass": _CLASS,
    "SystemOrganClass": frozenset(
        ["T017", "T029", "T023", "T030", "T031", "T022", "T185", "T077", "T169"]
    ),
    "MFHSubstance": _MATERIAL,
    "Food": _MATERIAL,
    "Herb": _MATERIAL,
    "Organism": frozenset(["T002", "T204", "T004", "T007", "T012", "T013"]),
    "Dish": frozenset({"T168"}),
    "Constitution": frozenset({"T033", "T047"}),
    "Syndrome": frozenset({"T033", "T047"}),
}
# open crosswalks tell no semantic type; what they list stands for these of our classes
INGREDIENTS, DISEASES = "ingredient", "disease"
_STANDING_FOR = {
    INGREDIENTS: frozenset(
        {"DSIngredient", "DSProduct", "MFHSubstance", "Food", "Herb", "Organism"}
    ),
    DISEASES: frozenset({"Disease", "TCMDisease", "Symptom", "EmergencySign"}),
}  # fmt: skip


def accepts(kind: str, types: frozenset[str]) -> bool:
    """Return whether a name with these semantic types may mean a concept of class ``kind``.

    Any one type is enough, as in QuickUMLS; no ``kind`` accepts all, an unknown one none.

    >>> accepts("Disease", frozenset({"T047"})), accepts("Drug", frozenset({"T047"}))
    (True, False)
    """
    if not kind:
        return True
    if not SEMANTIC_TYPES.get(kind, frozenset()).isdisjoint(types):
        return True
    return any(kind in _STANDING_FOR.get(each, ()) for each in types)
