"""Whole names by the kind they may stand for: exact after folding, never guessed."""

from collections import defaultdict
from collections.abc import Sequence

from shiyi.ingest.extraction.senses import OLD_SENSES, says_the_same
from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.linking.normalise import fold
from shiyi.model.rdf import NamedNode

MATERIALS = ("MFHSubstance", "Herb", "Food")
PREPARED = ("Formula", "Dish")
# the traditional reading of a name first: 霍乱 of a classic is not cholera
CONDITIONS = ("TCMDisease", "Symptom", "Syndrome", "EmergencySign")
WESTERN = ("Disease",)


class Lexicon:
    """Names of concepts in one language, looked up whole among chosen kinds."""

    def __init__(self, index: LabelIndex, language: str = "zh") -> None:
        found: dict[str, dict[str, set[tuple[bool, str]]]] = defaultdict(lambda: defaultdict(set))
        for label in index.labels:
            if label.language == language:
                concept = index.concepts[label.concept]
                preferred = label.role == PREFERRED
                found[fold(label.text)][concept.kind].add((preferred, concept.iri))
        self._found = {form: dict(kinds) for form, kinds in found.items()}
        self._names = {each.iri: each.zh or each.en for each in index.concepts}

    def find(self, form: str, kinds: Sequence[str]) -> NamedNode | None:
        """Give the one concept that bears this name; None if several of a kind do.

        What is called so in the first place goes before what is also called so, then the order
        of ``kinds`` decides.
        """
        by_kind = self._found.get(fold(form), {})
        for wanted in (True, False):
            for kind in kinds:
                own = {iri for preferred, iri in by_kind.get(kind, ()) if preferred or not wanted}
                if own:
                    return NamedNode(own.pop()) if len(own) == 1 else None
        return None

    def condition(self, form: str, kinds: Sequence[str]) -> NamedNode | None:
        """Give the one condition of this name, unless its own name says more or less than this."""
        found = self.find(form, kinds) if form not in OLD_SENSES else None
        return found if found and says_the_same(form, self._names[found.value]) else None

    def material(self, form: str) -> NamedNode | None:
        """Give the one material of this name among medicine-food substances, herbs and foods."""
        by_kind = self._found.get(fold(form), {})
        senses = {sense for kind in MATERIALS for sense in by_kind.get(kind, ())}
        own = {iri for preferred, iri in senses if preferred} or {iri for _, iri in senses}
        return NamedNode(own.pop()) if len(own) == 1 else None

    def is_known(self, form: str) -> bool:
        """Tell whether anything at all bears this name."""
        return fold(form) in self._found
