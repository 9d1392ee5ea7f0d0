"""Contraindications, interactions and allergies of a person."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import (
    CAUTION,
    INCOMPATIBLE,
    INTERACTION,
    MATERIAL,
    Fact,
    Facts,
)
from shiyi.answering.knowledge.severity import WARNINGS, caution_severity
from shiyi.answering.understanding.patient import Person
from shiyi.model.iris import resource
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI

_Parts = tuple[tuple[str, tuple[Fact, ...]], ...]
_MANY: Final = 3  # Shiyi's: kinds that make a word one for a whole group of diseases
_NO_KIN: Final = frozenset(resource(f"foodgroup-{name}").value for name in ("fruit", "vegetable"))
_PRONE: Final = resource("population-allergic").value
_SLIGHT: Final = resource("toxicity-slight").value
_BARRED: Final = frozenset(
    resource(f"status-{name}").value for name in ("health-food-forbidden", "toxic-medicine")
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason against ``material``: what it meets (``against``) and the claims that say so.

    ``through`` is the ingredient, class or broader condition the claim was made about, where it
    was not made about the two themselves.
    """

    severity: str
    material: str
    against: str
    facts: tuple[Fact, ...]
    through: str = ""
    left_out: bool = False  # not eaten by choice: a wish, and no harm

    @property
    def fact(self) -> Fact:
        """Return the claim that says it."""
        return self.facts[0]

    @property
    def of_a_kind(self) -> bool:
        """Return whether only a kind of the state is recorded: hepatitis for "a liver disease"."""
        return any(f.predicate == SHIYI.judgedAs and f.object == self.against for f in self.facts)

    @property
    def stated_claims(self) -> tuple[Fact, ...]:
        """List the claims that were read; what is derived from them is left to the premises."""
        read = tuple({f.claim: f for f in self.facts if not f.derived}.values())
        return read or self.facts

    @property
    def claims(self) -> tuple[str, ...]:
        """List the claims that were read, the telling one first."""
        return tuple(f.claim for f in self.stated_claims)


_Key = ParamSpec("_Key")
_Value = TypeVar("_Value")
_Method = Callable[Concatenate["Safety", _Key], _Value]
_ALL: Final = 65_536  # of what the base alone decides


def _memoize(limit: int) -> Callable[[_Method[_Key, _Value]], _Method[_Key, _Value]]:
    """Store what a method returns for its arguments, for up to ``limit`` of them."""

    def decorate(compute: _Method[_Key, _Value]) -> _Method[_Key, _Value]:
        name = compute.__name__

        def read(self: "Safety", /, *key: _Key.args, **names: _Key.kwargs) -> _Value:
            values: dict[Any, _Value] = self._known.setdefault(name, {})
            call = (*key, *names.items())
            if (value := values.get(call)) is None:
                if len(values) >= limit:
                    values.clear()
                value = values[call] = compute(self, *key, **names)
            return value

        return read

    return decorate


@dataclass(frozen=True, slots=True)
class Safety:
    """Looks up every safety claim; a missing record is never read as consent."""

    facts: Facts
    evidences: Evidences
    _known: dict[str, dict[Any, Any]] = field(default_factory=dict, repr=False)

    def check(
        self, material: str, person: Person, beside: Iterable[str] = ()
    ) -> tuple[Finding, ...]:
        """List the reasons against ``material``, gravest first, one for each thing it meets."""
        states = self._but_other_allergens(
            self.against_states(material, person.states), person.allergies
        )
        findings = [
            *states,
            *self._drugs(material, person.drugs),
            *self._materials(material, [*beside, *person.drugs]),
            *self._find_excluded(material, person.allergies),
            *self._find_excluded(material, person.left_out, by_choice=True),
            *_with_harm(self._diets(material, person.states), states),
        ]
        return self._gravest(findings)

    def _but_other_allergens(
        self, findings: Iterable[Finding], allergies: Sequence[str]
    ) -> tuple[Finding, ...]:
        """Leave out what warns allergic people of a common allergen that is none of theirs.

        Who is allergic to prawns may have milk; royal jelly is warned of for its own sake.
        """
        if not (theirs := {g for iri in allergies for g in (iri, *self._groups_of(iri))}):
            return tuple(findings)
        return tuple(
            f
            for f in findings
            if not (
                f.against == _PRONE
                and self._groups_of(f.fact.subject)
                and not theirs & {f.fact.subject, *self._groups_of(f.fact.subject)}
            )
        )

    def against_states(self, material: str, states: Iterable[str]) -> tuple[Finding, ...]:
        """List the conditions among ``states`` in which a source warns of ``material``."""
        return self._against(material, tuple(states))

    @_memoize(4_096)
    def _against(self, material: str, states: tuple[str, ...]) -> tuple[Finding, ...]:
        findings: list[Finding] = []
        implied_states = self._implied_states(states)
        for part, made_of in self._parts(material) if implied_states else ():
            for there, fact in self._warnings(part):
                for state, grounds in implied_states.get(there, ()):
                    through = part if part != material else there if there != state else ""
                    facts = (fact, *made_of, *grounds, *self._inherit(material, state, fact))
                    findings.append(Finding(self.severity(fact), material, state, facts, through))
        # what is recorded of the state itself is stated, and not what is of one of its kinds
        own = {f.against for f in findings if not f.of_a_kind}
        return self._gravest(f for f in findings if not (f.of_a_kind and f.against in own))

    def conditional(self, material: str) -> tuple[Finding, ...]:
        """List every caution and interaction recorded for a material, in any state."""
        cautions = [
            Finding(self.severity(f), material, f.object, (f,))
            for f in self.facts.of(material, *CAUTION)
        ]
        cautions += [
            Finding(self.severity(f), material, f.subject, (f,))
            for f in self.facts.inverse(material, SHIYI.unsuitableFood)
        ]
        meets = [
            Finding("interaction", material, f.other(material), (f,))
            for f in (
                *self.facts.of(material, *INTERACTION),
                *self.facts.inverse(material, *INTERACTION),
            )
        ]
        clashes = [
            Finding("contraindicated", material, f.other(material), (f,))
            for f in (
                *self.facts.of(material, *INCOMPATIBLE),
                *self.facts.inverse(material, *INCOMPATIBLE),
            )
        ]
        return self._gravest([*cautions, *meets, *clashes])

    def poisons(self, material: str) -> tuple[Finding, ...]:
        """State that ``material`` itself is toxic, or is excluded from food by regulation; once."""
        facts = self.facts.of(material, SHIYI.hasToxicity)
        barred = [f for f in self.facts.of(material, SHIYI.regulatoryStatus) if f.object in _BARRED]
        found = (*facts, *barred)
        if not found:
            return ()
        eaten = self.facts.is_a(material, SHIYI.Food) and not barred
        slight = eaten or found[0].object == _SLIGHT
        severity = "caution" if slight else "contraindicated"
        return (Finding(severity, material, found[0].object, tuple(found)),)

    def reactions(self, material: str, states: Iterable[str]) -> tuple[Finding, ...]:
        """List the states that are recorded as an unwanted reaction to ``material`` itself."""
        facts = {f.object: f for f in self.facts.of(material, SHIYI.hasAdverseReaction)}
        return tuple(
            Finding("caution", material, state, (facts[state],))
            for state in states
            if state in facts
        )

    def denials(self, one: str, other: str) -> tuple[Fact, ...]:
        """List the claims that no such effect was found; they do not make a thing harmless."""
        return tuple(
            f
            for broader in self.facts.above(other)
            for f in self.facts.between(one, broader)
            if not f.positive and f.predicate != SHIYI.isEffectiveFor
        )

    @_memoize(_ALL)
    def _state_grounds(self, state: str) -> _Parts:
        """List the states that ``state`` implies, with the claims that say so."""
        facts: dict[str, tuple[Fact, ...]] = dict.fromkeys(self.facts.above(state), ())
        facts |= self._kinds_of(state)
        queue = list(facts)
        while queue:
            here = queue.pop(0)
            for link in self.facts.of(here, SHIYI.impliesSyndrome, SHIYI.judgedAs):
                for above in self.facts.above(link.object):
                    if above not in facts:
                        facts[above] = (*facts[here], link)
                        queue.append(above)
        return tuple(facts.items())

    def _kinds_of(self, state: str) -> dict[str, tuple[Fact, ...]]:
        """List the diseases a collective word may mean: "a liver disease" may be hepatitis."""
        if not self.facts.is_a(state, SHIYI.Disease):
            return {}
        links = [
            f
            for f in self.facts.inverse(state, SHIYI.judgedAs)
            if self.facts.is_a(f.subject, SHIYI.Disease)
        ]
        return {f.subject: (f,) for f in links} if len(links) >= _MANY else {}

    @_memoize(_ALL)
    def _parts(self, material: str) -> _Parts:
        """List the material, what it is a kind of, its own kinds, and what it is made of."""
        kinds = dict.fromkeys((*self.facts.above(material), *self.facts.below(material)))
        parts: list[tuple[str, tuple[Fact, ...]]] = [
            (kind, ()) for kind in kinds if self.facts.is_a(kind, *MATERIAL)
        ]
        links = self.facts.of(material, SHIYI.hasIngredient)
        parts += [(above, (x,)) for x in links for above in self.facts.above(x.object)]
        return tuple(parts)

    @_memoize(_ALL)
    def _warnings(self, part: str) -> tuple[tuple[str, Fact], ...]:
        """List what ``part`` itself is warned of in, each with its claim."""
        cautions = [(f.object, f) for f in self.facts.of(part, *CAUTION)]
        cautions += [(f.subject, f) for f in self.facts.inverse(part, SHIYI.unsuitableFood)]
        return tuple(cautions)

    @_memoize(256)
    def _implied_states(
        self, states: tuple[str, ...]
    ) -> Mapping[str, list[tuple[str, tuple[Fact, ...]]]]:
        """Return, for each thing true of who is in ``states``, the state it comes from and why."""
        met: dict[str, list[tuple[str, tuple[Fact, ...]]]] = {}
        for state in states:
            for there, grounds in self._state_grounds(state):
                met.setdefault(there, []).append((state, grounds))
        return met

    def _inherit(self, material: str, state: str, base: Fact) -> tuple[Fact, ...]:
        facts = self.facts.between(material, state)
        return tuple(f for f in facts if f.derived and base.claim in self._premises(f))

    def _premises(self, fact: Fact) -> tuple[str, ...]:
        return self.facts.premises.get(fact.claim, ())

    def _drugs(self, material: str, drugs: Iterable[str]) -> Iterator[Finding]:
        for drug in drugs:
            for broader in (*self.facts.above(drug), *self.facts.below(drug)[1:]):
                for part, made_of in self._parts(material) or ((material, ()),):  # a medicine
                    for fact in self.facts.between(part, broader):
                        if fact.predicate in INTERACTION and fact.positive and not fact.derived:
                            through = (
                                part if part != material else broader if broader != drug else ""
                            )
                            inherited = self._inherit(material, drug, fact)
                            yield Finding(
                                "interaction", material, drug, (fact, *made_of, *inherited), through
                            )

    def _materials(self, material: str, others: Iterable[str]) -> Iterator[Finding]:
        for other in others:
            if other == material:
                continue
            for part, made_of in self._parts(material):
                for opposite, also_facts in self._parts(other):
                    for fact in self.facts.between(part, opposite):
                        clash = fact.predicate in (*INCOMPATIBLE, *INTERACTION)
                        if clash and fact.positive and not fact.derived:
                            meets = fact.predicate in INTERACTION
                            severity = "interaction" if meets else "contraindicated"
                            through = part if part != material else ""
                            facts = (fact, *made_of, *also_facts)
                            yield Finding(severity, material, other, facts, through)

    def _find_excluded(
        self, material: str, things: Iterable[str], *, by_choice: bool = False
    ) -> Iterator[Finding]:
        """Find allergens and foods left out in a material, and others of their group."""
        severity = "caution" if by_choice else "contraindicated"
        for thing in things:
            known = set(self.facts.below(thing))
            groups = known if self.facts.is_a(thing, SHIYI.FoodGroup) else self._groups_of(thing)
            for part, made_of in self._parts(material):
                origin = self.facts.of(part, SHIYI.derivedFromOrganism)
                same = [f for f in origin if f.object in known]
                member = next((f for f in self._memberships(part) if f.object in groups), None)
                through = part if part != material else ""
                if part in known or same:
                    facts = (*made_of, *same)
                    yield Finding(severity, material, thing, facts, through, by_choice)
                elif member:
                    facts = (member, *made_of)
                    yield Finding(severity, material, thing, facts, through, by_choice)

    def _diets(self, material: str, states: Iterable[str]) -> Iterator[Finding]:
        """Find the groups of food that are left out by people of such a diet, or in a disease."""
        for state in states:
            if not (groups := self._groups_left_out(state)):
                continue
            by_choice = self.facts.is_a(state, SHIYI.Population)
            severity = "caution" if by_choice else "contraindicated"
            for part, made_of in self._parts(material):
                for member in self._memberships(part):
                    if rule := groups.get(member.object):
                        through = part if part != material else ""
                        facts = (member, rule, *made_of)
                        yield Finding(severity, material, state, facts, through, by_choice)

    @_memoize(_ALL)
    def _groups_left_out(self, state: str) -> Mapping[str, Fact]:
        facts = self.facts
        rules = [f for n in facts.above(state) for f in facts.of(n, SHIYI.excludesFoodGroup)]
        return {group: rule for rule in rules for group in facts.below(rule.object)}

    def _memberships(self, material: str) -> tuple[Fact, ...]:
        return self.facts.of(material, SHIYI.hasFoodGroup)

    def _groups_of(self, material: str) -> set[str]:
        """List the groups of related members; fruit and vegetable are not such groups."""
        results = (f.object for f in self._memberships(material) if f.object not in _NO_KIN)
        return {group for iri in results for group in self.facts.below(iri)}

    def _gravest(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Keep one finding for each material and thing met: the gravest, then the most direct.

        Of interactions of one rating, one with a reason in its source comes first.
        """
        if len(all_findings := list(findings)) < 2:
            return tuple(all_findings)
        ranked_findings = sorted(
            all_findings,
            key=lambda f: (
                WARNINGS.index(f.severity),
                self._rating_order(f),
                f.severity == "interaction" and not self.evidences.note(f.fact.claim),
                bool(f.through),
                -f.fact.confidence if f.facts else 0.0,
                f.claims,
            ),
        )
        gravest: dict[tuple[str, str], Finding] = {}
        for finding in ranked_findings:
            gravest.setdefault((finding.material, finding.against), finding)
        return tuple(gravest.values())

    def _rating_order(self, finding: Finding) -> int:
        """Order interactions by rating: with a diuretic before a tablet for blood pressure."""
        if not (finding.facts and finding.fact.predicate in INTERACTION):
            return 0
        return self.evidences.gravity(finding.fact.claim)

    def severity(self, fact: Fact) -> str:
        """Return ``contraindicated`` or ``caution``, by the relation and the sources' grades."""
        return self._severity(fact.claim, fact.predicate)

    @_memoize(_ALL)
    def _severity(self, claim: str, predicate: NamedNode) -> str:
        return caution_severity(predicate, self.evidences.grade(claim))


def _with_harm(diets: Iterable[Finding], harms: Iterable[Finding]) -> Iterator[Finding]:
    """Place the claims of a harm before those of the group that is left out in the same disease."""
    findings = {harm.against: harm for harm in harms}
    for diet in diets:
        harm = findings.get(diet.against)
        if harm is None:
            yield diet
        else:
            facts = (*harm.facts, *diet.facts)
            yield Finding(diet.severity, diet.material, diet.against, facts, harm.through)
