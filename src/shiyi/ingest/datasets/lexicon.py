"""Whole names by class: exact after folding, never guessed."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.linking.normalization import fold
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import Cues, cue_texts, word_list

_CUES: Final = Cues("senses-of-old-books")


def is_alias_of(word: str, name: str) -> bool:
    """Return whether ``word``, an alias, may stand for the condition called ``name``.

    A name that holds the word and more is narrower; one that lacks its limb or its pain is wider;
    a class of diseases is meant by its own stem alone.
    """
    stem = _CUES["weak"].sub("", _CUES["ending"].sub("", name))
    bare = _CUES["weak"].sub("", _CUES["ending"].sub("", word))
    if bare == stem:
        return True
    if _CUES["disease-class"].search(name):
        return bare in stem or stem in bare
    if len(bare) > 1 and bare in stem:
        return False
    return all(
        not set(marks) & set(word) or set(marks) & set(name)
        for marks in cue_texts("senses-of-old-books")["marks"][0].split("|")
    )


MATERIALS = ("MFHSubstance", "Herb", "Food")
PREPARED = ("Formula", "Dish")
# the traditional reading of a name first: 霍乱 of a classic is not cholera
CONDITIONS = ("TCMDisease", "Symptom", "Syndrome", "EmergencySign")


class Lexicon:
    """Names of concepts in one language, looked up whole among chosen kinds."""

    def __init__(self, index: LabelIndex, language: str = "zh") -> None:
        results: dict[str, dict[str, set[tuple[bool, str]]]] = defaultdict(lambda: defaultdict(set))
        for label in index.labels:
            if label.language == language:
                concept = index.concepts[label.concept]
                preferred = label.role == PREFERRED
                results[fold(label.text)][concept.kind].add((preferred, concept.iri))
        self._found = {form: dict(kinds) for form, kinds in results.items()}
        self._names = {each.iri: each.zh or each.en for each in index.concepts}

    def find(self, form: str, kinds: Sequence[str]) -> NamedNode | None:
        """Return the one concept that bears this name; None if several of a kind do.

        Preferred labels precede other labels, then the order of ``kinds`` decides.
        """
        by_kind = self._found.get(fold(form), {})
        for strict in (True, False):
            for kind in kinds:
                own = {iri for preferred, iri in by_kind.get(kind, ()) if preferred or not strict}
                if own:
                    return NamedNode(own.pop()) if len(own) == 1 else None
        return None

    def condition(self, form: str, kinds: Sequence[str]) -> NamedNode | None:
        """Return the one condition of this name, unless its own name is narrower or wider."""
        result = (
            self.find(form, kinds)
            if form not in word_list("senses-of-old-books", "meant-otherwise")[0]
            else None
        )
        return result if result and is_alias_of(form, self._names[result.value]) else None

    def material(self, form: str) -> NamedNode | None:
        """Return the one material of this name among medicine-food substances, herbs and foods."""
        by_kind = self._found.get(fold(form), {})
        senses = {sense for kind in MATERIALS for sense in by_kind.get(kind, ())}
        own = {iri for preferred, iri in senses if preferred} or {iri for _, iri in senses}
        return NamedNode(own.pop()) if len(own) == 1 else None

    def name(self, concept: NamedNode) -> str:
        """Return the name of a concept in the first place, empty for one that the base lacks."""
        return self._names.get(concept.value, "")

    def is_known(self, form: str) -> bool:
        """Return whether anything at all bears this name."""
        return fold(form) in self._found
