"""Which part each property plays in an answer."""

from typing import Final

from shiyi.model.path import Step
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

BENEFIT: Final = (
    SHIYI.suitableFood, SHIYI.relieves, SHIYI.indicatedFor, SHIYI.isEffectiveFor, SHIYI.realisedBy,
)  # fmt: skip
_RELATED: Final = Step(SHIYI.relatedConstitution.value)
_SHOWN_BY: Final = Step(SHIYI.hasManifestation.value, forward=False)
_SYNDROME: Final = Step(SHIYI.hasSyndrome.value)
_PRINCIPLE: Final = Step(SHIYI.hasTreatmentPrinciple.value)
_SOUGHT: Final = Step(SHIYI.directedAt.value, forward=False)
# the only directions that lead to advice: from a sign to the patterns it may belong to, never
# from a sign, a syndrome or a constitution to a disease, which would make a patient of the asker
BRIDGES: Final[tuple[tuple[NamedNode, Step, NamedNode], ...]] = (
    (SHIYI.Symptom, _RELATED, SHIYI.Constitution),
    (SHIYI.Symptom, _SHOWN_BY, SHIYI.Syndrome),
    (SHIYI.Symptom, _SHOWN_BY, SHIYI.Constitution),
    (SHIYI.Symptom, _SOUGHT, SHIYI.Efficacy),
    (SHIYI.Disease, _RELATED, SHIYI.Constitution),
    (SHIYI.Disease, _SYNDROME, SHIYI.Syndrome),
    (SHIYI.TCMDisease, _RELATED, SHIYI.Constitution),
    (SHIYI.TCMDisease, _SYNDROME, SHIYI.Syndrome),
    (SHIYI.Syndrome, _PRINCIPLE, SHIYI.Therapy),
)
# only at the start, where a principle of treatment is asked for: the patterns it is the principle of
FIRST_BRIDGES: Final[tuple[tuple[NamedNode, Step, NamedNode], ...]] = (
    (SHIYI.Therapy, Step(SHIYI.hasTreatmentPrinciple.value, forward=False), SHIYI.Syndrome),
)
# from an effect that is asked for, such as 补血, or that is for the sign asked about: what has it
WITH_EFFECT: Final = Step(SHIYI.hasEfficacy.value, forward=False)
CAUTION: Final = (
    SHIYI.contraindicatedIn, SHIYI.cautionIn, SHIYI.aggravates, SHIYI.derivedCaution,
)  # fmt: skip
INTERACTION: Final = (SHIYI.interactsWith, SHIYI.potentiallyInteractsWith)
INCOMPATIBLE: Final = (SHIYI.opposes, SHIYI.fears, SHIYI.incompatibleWith)
ADVERSE: Final = (SHIYI.hasAdverseReaction, SHIYI.hasAdverseEffectOn)
TOXIC: Final = (SHIYI.hasToxicity, SHIYI.regulatoryStatus)
PROFILE: Final = (
    SHIYI.hasNature, SHIYI.hasFlavour, SHIYI.hasMeridianTropism, SHIYI.hasEfficacy,
)  # fmt: skip

MATERIAL: Final = (
    SHIYI.DietaryMaterial, SHIYI.Dish, SHIYI.Formula, SHIYI.DSIngredient, SHIYI.DSProduct,
)  # fmt: skip
EDIBLE: Final = (SHIYI.Food, SHIYI.Dish)
SUPPLEMENT: Final = (SHIYI.DSIngredient,)
AILMENT: Final = (SHIYI.Disease, SHIYI.TCMDisease, SHIYI.Syndrome, SHIYI.Symptom)
