"""Cold or heat: pattern differentiation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shiyi.answering.knowledge.facts import Fact, Facts
from shiyi.model.iris import resource
from shiyi.ontology.terms import SHIYI

COLD: Final = resource("nature-cold").value
HOT: Final = resource("nature-hot").value
_EFFECTS: Final = {
    "cooling": frozenset(resource(f"nature-{name}").value for name in ("cold", "cool")),
    "warming": frozenset(resource(f"nature-{name}").value for name in ("hot", "warm")),
}
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
    """The patterns that fit best; ``is_undecided`` where some are cold and some are hot."""

    patterns: tuple[Pattern, ...] = ()
    leaning: str = ""  # "cold" or "hot" where the signs say so
    words: tuple[str, ...] = ()  # what the asker stated that decided it

    @property
    def is_undecided(self) -> bool:
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
    facts: Facts, ailments: Iterable[str], known: Iterable[str], stated: Sequence[str] = ()
) -> Differential:
    """Find the syndromes with most of the signs.

    ``known`` states (syndromes, types) and what was ``stated`` to help or harm (``cold`` or ``hot``
    with the words) decide between cold and heat; contradictions decide nothing.
    """
    signs = [a for a in ailments if facts.is_a(a, SHIYI.Symptom)]
    diseases = [a for a in ailments if facts.is_a(a, SHIYI.Disease, SHIYI.TCMDisease)]
    met: dict[str, list[Fact]] = {}
    for sign in signs:
        for near in facts.above(sign):
            for fact in facts.inverse(near, SHIYI.hasManifestation):
                if facts.is_a(fact.subject, SHIYI.Syndrome):
                    met.setdefault(fact.subject, []).append(fact)
    for disease in diseases:
        for fact in facts.of(disease, SHIYI.hasSyndrome):
            met.setdefault(fact.object, []).append(fact)
    most = max((len({f.other(iri) for f in found}) for iri, found in met.items()), default=0)
    best = [iri for iri, found in met.items() if len({f.other(iri) for f in found}) == most]
    best.sort(key=lambda iri: (-len(facts.by_object.get(iri, ())), iri))  # the best known first
    patterns = tuple(_pattern(facts, iri, tuple(met[iri])) for iri in best[:_MOST])
    decided = {nature_of(facts, each)[0] for each in known} | set(stated[:1])
    decided -= {""}
    if decided:
        leaning = decided.pop() if len(decided) == 1 else ""
        return Differential(
            patterns, leaning, tuple(stated[1:]) if [leaning] == list(stated[:1]) else ()
        )
    return Differential(patterns, _lean_of_patterns(facts, signs, patterns))


def nature_of(facts: Facts, iri: str) -> tuple[str, tuple[Fact, ...]]:
    """Return ``cold``, ``hot`` or nothing for a syndrome or constitution, and the claims."""
    natures = facts.of(iri, SHIYI.hasThermalNature)
    for name, nature in (("cold", COLD), ("hot", HOT)):
        picked_facts = tuple(f for f in natures if nature in facts.above(f.object))
        if picked_facts:
            return name, picked_facts
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
    """Weigh all sources of a nature: an effect has more than half of their confidence."""
    whole = sum([f.confidence for f in natures])
    for effect, side in _EFFECTS.items():
        found_facts = tuple([f for f in natures if not side.isdisjoint(facts.above(f.object))])
        if found_facts and 2 * sum([f.confidence for f in found_facts]) > whole:
            return effect, found_facts
    return "", ()


def _pattern(facts: Facts, iri: str, signs: tuple[Fact, ...]) -> Pattern:
    nature, because = nature_of(facts, iri)
    return Pattern(iri, signs, nature, because)


def _lean_of_patterns(facts: Facts, signs: list[str], patterns: tuple[Pattern, ...]) -> str:
    if len(signs) < _ENOUGH:
        return ""
    origins = ([f.subject for f in facts.inverse(s, SHIYI.hasManifestation)] for s in signs)
    votes = [_vote(facts, origin) for origin in origins]
    cast = {vote for vote in votes if vote}
    if len(cast) == 1:
        return cast.pop()
    return "" if cast else _vote(facts, [p.iri for p in patterns])


def _vote(facts: Facts, origins: list[str]) -> str:
    """Return the nature that all thermal origins share, if they are half of all at least."""
    natures = [nature for iri in origins if (nature := nature_of(facts, iri)[0])]
    agreed = len(set(natures)) == 1 and 2 * len(natures) >= len(origins)
    return natures[0] if agreed else ""
