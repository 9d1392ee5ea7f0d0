"""Cautions merged, gravest first; what is not recommended, and why."""

from collections.abc import Callable, Iterable

from shiyi.answering.knowledge.facts import CAUTION, TOXIC, Fact
from shiyi.answering.recommendation.candidates import Candidates
from shiyi.answering.safety import Finding
from shiyi.answering.wording.draft import AnswerContext, Contribution, Piece
from shiyi.ontology.terms import SHIYI


def caution_pieces(
    context: AnswerContext, findings: Iterable[Finding], limit: int = 2, *, rest: bool = True
) -> list[Piece]:
    """Merge what is recorded against a thing: interactions, then the gravest states.

    With ``rest`` it is stated how many more are recorded.
    """
    verbalizer, pieces = context.verbalizer, list[Piece]()
    every, others = _select_findings(context, findings)
    drugs, states = every[:limit], others[: limit - bool(every)]
    if drugs:
        names = verbalizer.names((f.against for f in drugs), "or")
        pieces.append((verbalizer.verbalize("k_drugs", drugs=names), tuple(f.fact for f in drugs)))
    for severity in _GRAVEST_FIRST:
        these = [f for f in states if f.severity == severity]
        if these:
            names = verbalizer.inline_names(f.against for f in these)
            pieces.append(
                (verbalizer.verbalize(f"k_{severity}", states=names), tuple(f.fact for f in these))
            )
    more = len(every) + len(others) - len(drugs) - len(states)
    if rest and more:
        pieces.append((verbalizer.verbalize("k_rest", n=str(more)), ()))
    return pieces


def _select_findings(
    context: AnswerContext, findings: Iterable[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Select what concerns the person: interactions and states, the gravest of each first."""
    findings = list(findings)
    drugs = _drugs(context, findings)
    states = [f for f in findings if f.severity in _GRAVEST_FIRST]
    states = sorted((f for f in states if _concerns(context, f)), key=lambda f: _state(context, f))
    states = [f for f in states if not (drugs and f.against.endswith("-anticoagulated"))]
    gravest: dict[str, Finding] = {}
    for finding in states:
        gravest.setdefault(finding.against, finding)
    return drugs, list(gravest.values())


_GRAVEST_FIRST = ("contraindicated", "caution")


def _drugs(context: AnswerContext, findings: Iterable[Finding]) -> list[Finding]:
    """List interactions, gravest and widest first; a class stands for its members."""
    rating = context.evidences.rating
    met = [f for f in findings if f.severity == "interaction" and rating(f.fact.claim) != "minor"]
    ranked = sorted(met, key=lambda f: _weight(context, f))
    surest: dict[str, Finding] = {}
    for each in ranked:
        member = not context.facts.is_a(each.against, SHIYI.DrugClass)
        if not (member and set(context.facts.above(each.against)) & set(surest)):
            surest.setdefault(each.against, each)
    return list(surest.values())


def _weight(context: AnswerContext, finding: Finding) -> tuple[object, ...]:
    wide = len(context.facts.below(finding.against))
    return (
        context.evidences.gravity(finding.fact.claim),
        -wide,
        -finding.fact.confidence,
        finding.fact.claim,
    )


def _concerns(context: AnswerContext, finding: Finding) -> bool:
    """Keep pregnancy unless ruled out, diseases and signs; patterns only where forbidden."""
    about, name = context.parsed.profile, finding.against.rpartition("/")[2]
    if name in _WOMEN:
        if context.parsed.is_of_child():
            return False
        return bool(about.pregnant) or not (about.sex == "male" or about.pregnant is False)
    if (
        context.facts.of(finding.against, SHIYI.excludesFoodGroup)
        and finding.against.find("/disease-") < 0
    ):
        return False  # a diet is a choice that the asker states
    grave = finding.severity == "contraindicated"
    if context.facts.is_a(finding.against, SHIYI.Disease, SHIYI.Symptom):
        return grave or not context.facts.is_a(finding.against, SHIYI.EmergencySign)
    return grave and context.facts.is_a(finding.against, SHIYI.Condition)


_WOMEN = frozenset({"population-pregnant", "population-lactating"})


def _state(context: AnswerContext, finding: Finding) -> tuple[object, ...]:
    pregnant = finding.against.endswith("population-pregnant")
    return (
        not pregnant,
        finding.severity != "contraindicated",
        not context.facts.is_a(finding.against, SHIYI.Population),
        not context.facts.is_a(finding.against, SHIYI.Disease),  # which people know that they have
        -finding.fact.confidence,
        finding.fact.claim,
    )


_MOST, _MOST_STATES = 2, 3


def write_vetoed(context: AnswerContext, choice: Candidates, part: Contribution) -> None:
    """Warn of what the asker's own states rule out; write the first that they forbid."""
    own = {*context.parsed.ailments}
    for found in (f for candidate in choice.vetoed[:_MOST] for f in candidate.vetoes):
        chosen = found.against in own or (found.left_out and found.material == found.against)
        if not (chosen or (found.facts and found.fact.predicate in TOXIC)):
            stated = found.severity != "caution" or not part.recommendations
            if stated and not part.warnings:
                part.opening.add(context.verbalizer.state_finding(found), *found.stated_claims)
            part.warn(context, found, is_stated=True)


def precedence(
    context: AnswerContext, things: Iterable[str]
) -> Callable[[str, Fact], tuple[object, ...]]:
    """Return the sort key of things to avoid, each with its claim: what is forbidden comes first.

    Medicines come last, since whether one is taken is for the doctor to decide.
    A group comes before its members, since who avoids offal avoids liver; then the surest, the one
    that most sources name, and the one that is unsuitable in the fewest states.
    """
    facts, evidences = context.facts, context.evidences
    members = {low for iri in things for low in facts.below(iri) if low != iri}

    def place(thing: str, fact: Fact) -> tuple[object, ...]:
        single = members.isdisjoint(facts.below(thing))
        sources = len({evidence.source for evidence in evidences.of(fact.claim, "en")})
        states = len(facts.inverse(thing, SHIYI.unsuitableFood))
        sure = round(fact.confidence, 1)
        forbidden = fact.predicate in (SHIYI.contraindicatedIn, SHIYI.unsuitableFood)
        medicine, covered = facts.is_a(thing, SHIYI.Drug), thing in members
        return medicine, not forbidden, covered, -sure, single, -sources, states, fact.claim

    return place


def objections(context: AnswerContext, state: str) -> tuple[Fact, ...]:
    """List what is recorded against in a state, either way round."""
    return (*context.facts.of(state, SHIYI.unsuitableFood), *context.facts.inverse(state, *CAUTION))
