"""Cold or heat: pattern differentiation."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.answering.understanding.text import QuestionText
from shiyi.model.iris import resource
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.terms import SHIYI

_CUES: Final = Cues("differentiation")


@dataclass(frozen=True, slots=True)
class Leaning:
    """``cold`` or ``hot``, empty where the words do not decide, and the words that say so."""

    nature: str = ""
    words: tuple[str, ...] = ()


def leaning_of(text: QuestionText) -> Leaning:
    """Read what makes the trouble better or worse; both sides together decide nothing.

    >>> leaning_of(QuestionText.of("My stomach hurts, worse with cold food"))
    Leaning(nature='cold', words=('worse with cold',))
    >>> leaning_of(QuestionText.of("I feel cold, and a burning pain")).nature
    ''
    """
    words = text.folded
    cues_found = {
        side: tuple(_cue_words(words, _CUES[side].finditer(words))) for side in ("cold", "hot")
    }
    sides = [side for side, found in cues_found.items() if found]
    return Leaning(sides[0], cues_found[sides[0]]) if len(sides) == 1 else Leaning()


def _cue_words(text: str, found: Iterable[re.Match[str]]) -> Iterable[str]:
    for each in found:
        before = text[max(0, each.start() - 10) : each.start()]
        asked = _CUES["asked-after"].match(text, each.end())
        if not (_CUES["denied"].search(before) or _CUES["asked-before"].search(before) or asked):
            yield each.group()


COLD: Final = resource("nature-cold").value
HOT: Final = resource("nature-hot").value
_COOLING: Final = tuple(resource(f"nature-{name}").value for name in ("cold", "cool"))
_WARMING: Final = tuple(resource(f"nature-{name}").value for name in ("hot", "warm"))
_ENOUGH: Final = 2  # one sign alone decides nothing
_MOST: Final = 256  # Shiyi's: patterns looked at; signs that as many share tell hardly any apart


@dataclass(frozen=True, slots=True)
class Pattern:
    """A syndrome the signs may stem from: why, and whether it is of cold or of heat."""

    iri: str
    signs: tuple[Fact, ...]
    nature: str = ""  # "cold", "hot" or empty
    nature_facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True)
class Differential:
    """The patterns that fit best; ``undecided`` where some are cold and some are hot."""

    patterns: tuple[Pattern, ...] = ()
    leaning: str = ""  # "cold" or "hot" where the signs say so
    words: tuple[str, ...] = ()  # what the asker stated that decided it

    @property
    def undecided(self) -> bool:
        """Return whether cold and heat are both possible."""
        return not self.leaning and {"cold", "hot"} <= {p.nature for p in self.patterns}

    @property
    def likely(self) -> str:
        """Return the nature that each pattern of the signs has: yellow phlegm is of heat.

        Patterns that a disease is sorted into say nothing: gout is sorted into mostly hot ones.
        """
        natures = {p.nature for p in self.patterns}
        shown = all(f.predicate == SHIYI.hasManifestation for p in self.patterns for f in p.signs)
        return natures.pop() if len(natures) == 1 and shown else ""

    def of_nature(self, nature: str) -> tuple[Pattern, ...]:
        """List the patterns of cold or of heat."""
        return tuple(p for p in self.patterns if p.nature == nature)


def differentiate(
    facts: Facts, ailments: Iterable[str], known: Iterable[str], stated: Leaning = Leaning()
) -> Differential:
    """Find the syndromes with most of the signs.

    ``known`` states (syndromes, types) and what was ``stated`` to help or harm decide between cold
    and heat; where they contradict one another nothing is decided.
    """
    signs = [a for a in ailments if facts.is_a(a, SHIYI.Symptom)]
    diseases = [a for a in ailments if facts.is_a(a, SHIYI.Disease, SHIYI.TCMDisease)]
    met: dict[str, list[Fact]] = {}
    for sign in signs:
        for near in facts.above(sign):
            for fact in facts.into(near, SHIYI.hasManifestation):
                if facts.is_a(fact.subject, SHIYI.Syndrome):
                    met.setdefault(fact.subject, []).append(fact)
    for disease in diseases:
        for fact in facts.of(disease, SHIYI.hasSyndrome):
            met.setdefault(fact.object, []).append(fact)
    most = max((len({f.other(iri) for f in found}) for iri, found in met.items()), default=0)
    best = [iri for iri, found in met.items() if len({f.other(iri) for f in found}) == most]
    best.sort(key=lambda iri: (-len(facts.by_object.get(iri, ())), iri))  # the best known first
    patterns = tuple(_pattern(facts, iri, tuple(met[iri])) for iri in best[:_MOST])
    decided = {nature_of(facts, each)[0] for each in known} | {stated.nature}
    decided -= {""}
    if decided:
        leaning = decided.pop() if len(decided) == 1 else ""
        return Differential(patterns, leaning, stated.words if leaning == stated.nature else ())
    return Differential(patterns, _leaning(facts, signs, patterns))


def nature_of(facts: Facts, iri: str) -> tuple[str, tuple[Fact, ...]]:
    """Return ``cold``, ``hot`` or nothing for a syndrome or constitution, and the claims."""
    natures = facts.of(iri, SHIYI.hasThermalNature)
    for name, nature in (("cold", COLD), ("hot", HOT)):
        picked = tuple(f for f in natures if nature in facts.above(f.object))
        if picked:
            return name, picked
    return "", ()


def effect_of(facts: Facts, material: str) -> tuple[str, tuple[Fact, ...]]:
    """Return ``cooling``, ``warming`` or "" for a material, by its or its ingredients' nature."""
    own = facts.of(material, SHIYI.hasNature)
    if own:
        return _effect(facts, own)
    parts = [
        fact
        for link in facts.of(material, SHIYI.hasIngredient)
        for fact in facts.of(link.object, SHIYI.hasNature)
    ]
    return _effect(facts, tuple(parts))


def _effect(facts: Facts, natures: tuple[Fact, ...]) -> tuple[str, tuple[Fact, ...]]:
    cooling = tuple(f for f in natures if set(_COOLING) & set(facts.above(f.object)))
    warming = tuple(f for f in natures if set(_WARMING) & set(facts.above(f.object)))
    if bool(cooling) == bool(warming):
        return "", ()
    return ("cooling", cooling) if cooling else ("warming", warming)


def _pattern(facts: Facts, iri: str, signs: tuple[Fact, ...]) -> Pattern:
    nature, because = nature_of(facts, iri)
    return Pattern(iri, signs, nature, because)


def _leaning(facts: Facts, signs: list[str], patterns: tuple[Pattern, ...]) -> str:
    if len(signs) < _ENOUGH:
        return ""
    votes = [_vote(facts, fact_origins) for fact_origins in _origins(facts, signs)]
    cast = {vote for vote in votes if vote}
    if len(cast) == 1:
        return cast.pop()
    return "" if cast else _vote(facts, [p.iri for p in patterns])


def _origins(facts: Facts, signs: Iterable[str]) -> list[list[str]]:
    return [[f.subject for f in facts.into(sign, SHIYI.hasManifestation)] for sign in signs]


def _vote(facts: Facts, origins: list[str]) -> str:
    """Return the nature that all thermal origins share, if they are half of all at least."""
    natures = [nature for iri in origins if (nature := nature_of(facts, iri)[0])]
    agreed = len(set(natures)) == 1 and 2 * len(natures) >= len(origins)
    return natures[0] if agreed else ""
