"""The severity of warnings and of interactions: their scales, and how a claim is placed on one."""

from typing import Final

from shiyi.model.rdf import NamedNode
from shiyi.ontology.serialization import EFFECT_RATINGS, INTERACTION_RATINGS
from shiyi.ontology.terms import SHIYI

WARNINGS: Final = ("emergency", "contraindicated", "interaction", "caution")  # the gravest first
RATINGS: Final = INTERACTION_RATINGS
# where sources differ the most careful rating counts: a graver interaction, a weaker effect
CAREFUL: Final = (*RATINGS, *reversed(EFFECT_RATINGS))
INTERACTIONS: Final = ("contraindicated", "major", "moderate", "unrated", "minor")
_FORBIDS: Final = ("忌", "禁", "避免", "勿", "不应", "contraindicat", "avoid", "prohibit")
_ORDER: Final = ("major", "moderate", "", "minor")  # an unrated interaction may be grave


def forbids(grade: str) -> bool:
    """Return whether a source's own grade of a caution forbids.

    >>> [forbids(grade) for grade in ("忌用", "避免", "慎用", "不推荐")]
    [True, True, False, False]
    """
    return any(word in grade.lower() for word in _FORBIDS)


def caution_severity(relation: NamedNode, grade: str) -> str:
    """Return ``contraindicated`` or ``caution``, by the relation and the source's own grade."""
    if relation == SHIYI.contraindicatedIn:
        return "contraindicated"
    if relation not in (SHIYI.unsuitableFood, SHIYI.cautionIn):
        return "caution"
    silent = relation == SHIYI.unsuitableFood and not grade
    return "contraindicated" if silent or forbids(grade) else "caution"


def rating_severity(rating: str) -> str:
    """Return the severity of an interaction from its rating, ``unrated`` where there is none.

    >>> rating_severity("major"), rating_severity("")
    ('major', 'unrated')
    """
    return rating if rating in RATINGS else "unrated"


def gravity(rating: str) -> int:
    """Return the rank of an interaction: 0 the gravest, 2 unrated, 3 minor, 4 for another rating.

    >>> gravity("major"), gravity(""), gravity("minor")
    (0, 2, 3)
    """
    return _ORDER.index(rating) if rating in _ORDER else len(_ORDER)
