"""Which part each property plays in an answer."""

from typing import Final

from shiyi.model.path import Step
from shiyi.ontology.terms import SHIYI

BENEFIT: Final = (
    SHIYI.suitableFood, SHIYI.relieves, SHIYI.indicatedFor, SHIYI.isEffectiveFor, SHIYI.realisedBy,
)  # fmt: skip
# read in this direction only: from a sign to what it may stem from, to what answers it
BRIDGE: Final = (
    Step(SHIYI.relatedConstitution.value), Step(SHIYI.hasManifestation.value, forward=False),
    Step(SHIYI.hasSyndrome.value), Step(SHIYI.hasTreatmentPrinciple.value),
)  # fmt: skip
CAUTION: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.aggravates, SHIYI.derivedCaution,
)  # fmt: skip
INTERACTION: Final = (SHIYI.interactsWith, SHIYI.potentiallyInteractsWith)
INCOMPATIBLE: Final = (SHIYI.opposes, SHIYI.fears, SHIYI.incompatibleWith)
ADVERSE: Final = (SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn)
PROFILE: Final = (
    SHIYI.hasNature, SHIYI.hasFlavour, SHIYI.hasMeridianTropism, SHIYI.hasEfficacy,
)  # fmt: skip

MATERIAL: Final = (
    SHIYI.DietaryMaterial, SHIYI.Dish, SHIYI.Formula, SHIYI.DSIngredient, SHIYI.DSProduct,
)  # fmt: skip
EDIBLE: Final = (SHIYI.Food, SHIYI.Dish)
SUPPLEMENT: Final = (*EDIBLE, SHIYI.DSIngredient)
AILMENT: Final = (SHIYI.Disease, SHIYI.TCMDisease, SHIYI.Syndrome, SHIYI.Symptom)
STATE: Final = (SHIYI.Condition,)
PATTERN: Final = (SHIYI.Syndrome, SHIYI.Constitution)
