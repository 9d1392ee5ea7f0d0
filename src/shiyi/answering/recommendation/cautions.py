"""Cautions merged, gravest first; what is not recommended, and why."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from shiyi.answering.knowledge.facts import CAUTION, MATERIAL, TOXIC, Fact
from shiyi.answering.knowledge.severity import WARNINGS
from shiyi.answering.recommendation.candidates import Candidate, Candidates
from shiyi.answering.safety import Finding
from shiyi.answering.understanding.differentiation import effect_of
from shiyi.answering.wording.draft import AnswerContext, Contribution, Piece
from shiyi.answering.wording.verbalization import join_names
from shiyi.ontology.terms import SHIYI


def caution_pieces(context: AnswerContext, found: Iterable[Finding], most: int = 2) -> list[Piece]:
    """Merge what is recorded against a thing: interactions, then the gravest states.

    How many more are recorded is stated, so that a short list does not pass for a whole one.
    """
    verbalizer, pieces = context.verbalizer, list[Piece]()
    every, others = _select_findings(context, found)
    drugs, states = every[:most], others[: most - bool(every)]
    if drugs:
        names = verbalizer.names((f.against for f in drugs), "or")
        pieces.append((verbalizer.verbalize("k_drugs", drugs=names), tuple(f.fact for f in drugs)))
    for severity in _GRAVEST_FIRST:
        these = [f for f in states if f.severity == severity]
        if these:
            names = verbalizer.these(f.against for f in these)
            pieces.append(
                (verbalizer.verbalize(f"k_{severity}", states=names), tuple(f.fact for f in these))
            )
    if rest := len(every) + len(others) - len(drugs) - len(states):
        pieces.append((verbalizer.verbalize("k_rest", n=str(rest)), ()))
    return pieces


def caution_lines(context: AnswerContext, about: Mapping[str, list[Finding]]) -> list[list[Piece]]:
    """Return one line per kind of caution, over several things, with whom it concerns.

    ``about`` gives what is recorded of each thing and of what it is made of.
    """
    met: dict[str, dict[tuple[str, ...], list[tuple[str, Finding]]]] = {}
    for item, found in about.items():
        drugs, states = _select_findings(context, found)
        drugs, states = drugs[:_MOST], states[: _MOST_STATES - bool(drugs)]
        if drugs:
            key = tuple(dict.fromkeys(f.against for f in drugs))
            met.setdefault("interaction", {}).setdefault(key, []).extend((item, f) for f in drugs)
        for each in states:
            met.setdefault(each.severity, {}).setdefault((each.against,), []).append((item, each))
    kinds = (*_GRAVEST_FIRST, "interaction")
    return [_line(context, kind, _merge_findings(met[kind])) for kind in kinds if kind in met]


_Told = list[tuple[tuple[str, ...], list[tuple[str, Finding]]]]  # whom it concerns, and what


def _merge_findings(met: Mapping[tuple[str, ...], list[tuple[str, Finding]]]) -> _Told:
    """Join what concerns the same things: "bloating or constipation (lotus seed)"."""
    same: dict[tuple[str, ...], dict[str, None]] = {}
    because: dict[tuple[str, ...], list[tuple[str, Finding]]] = {}
    for against, found in met.items():
        items = tuple(dict.fromkeys(item for item, _ in found))
        same.setdefault(items, {}).update(dict.fromkeys(against))
        because.setdefault(items, []).extend(found)
    return [(tuple(same[items]), because[items]) for items in same]


def _line(context: AnswerContext, kind: str, met: _Told) -> list[Piece]:
    """Write whom a kind of caution concerns, each with the things in brackets."""
    verbalizer, pieces = context.verbalizer, list[Piece]()
    pieces.append((verbalizer.verbalize(f"l_{kind}"), ()))
    for n, (against, found) in enumerate(met):
        who, what = verbalizer.these(against, "or"), _things(context, found)
        text = verbalizer.verbalize("l_who", who=who, items=what)
        mark = "" if n == 0 else ("；" if verbalizer.language == "zh" else "; ")
        facts = tuple({f.fact.claim: f.fact for _, f in found}.values())
        pieces.append((mark + text, facts))
    return pieces


def _things(context: AnswerContext, found: Iterable[tuple[str, Finding]]) -> str:
    """Name things, each with what it is made of where that is what is spoken of."""
    verbalizer, parts = context.verbalizer, dict[str, dict[str, None]]()
    for item, each in found:
        part = "" if each.material == item else verbalizer.name(each.material)
        parts.setdefault(verbalizer.name(item), {})[part] = None
    made: dict[tuple[str, ...], list[str]] = {}
    for name, of in parts.items():
        made.setdefault(() if "" in of else tuple(of), []).append(name)
    listed = [
        join_names(verbalizer.language, names)
        if not of
        else verbalizer.verbalize(
            "l_has",
            x=join_names(verbalizer.language, names),
            part=join_names(verbalizer.language, of),
        )
        for of, names in made.items()
    ]
    return ("；" if verbalizer.language == "zh" else "; ").join(listed)


def _select_findings(
    context: AnswerContext, found: Iterable[Finding]
) -> tuple[list[Finding], list[Finding]]:
    """Select what concerns the person: interactions and states, the gravest of each first."""
    found = list(found)
    drugs = _drugs(context, found)
    states = [f for f in found if f.severity in _GRAVEST_FIRST]
    states = sorted((f for f in states if _concerns(context, f)), key=lambda f: _state(context, f))
    states = [f for f in states if not (drugs and f.against.endswith("-anticoagulated"))]
    gravest: dict[str, Finding] = {}
    for each in states:
        gravest.setdefault(each.against, each)
    return drugs, list(gravest.values())


_GRAVEST_FIRST = ("contraindicated", "caution")


def _drugs(context: AnswerContext, found: Iterable[Finding]) -> list[Finding]:
    """List interactions, gravest and widest first; a class stands for its members."""
    met = [
        f
        for f in found
        if f.severity == "interaction" and context.evidences.rating(f.fact.claim) != "minor"
    ]
    ranked = sorted(met, key=lambda f: _weight(context, f))
    surest: dict[str, Finding] = {}
    for each in ranked:
        member = not context.facts.is_a(each.against, SHIYI.DrugClass)
        if not (member and set(context.facts.above(each.against)) & set(surest)):
            surest.setdefault(each.against, each)
    return list(surest.values())


def _weight(context: AnswerContext, found: Finding) -> tuple[object, ...]:
    wide = len(context.facts.below(found.against))
    return (
        context.evidences.gravity(found.fact.claim),
        -wide,
        -found.fact.confidence,
        found.fact.claim,
    )


def _concerns(context: AnswerContext, found: Finding) -> bool:
    """Keep pregnancy unless ruled out, diseases and signs; patterns only where forbidden."""
    about, name = context.parsed.profile, found.against.rpartition("/")[2]
    if name in _WOMEN:
        if context.parsed.is_of_child():
            return False
        return bool(about.pregnant) or not (about.sex == "male" or about.pregnant is False)
    if (
        context.facts.of(found.against, SHIYI.excludesFoodGroup)
        and found.against.find("/disease-") < 0
    ):
        return False  # a diet is a choice that the asker states
    grave = found.severity == "contraindicated"
    if context.facts.is_a(found.against, SHIYI.Disease, SHIYI.Symptom):
        return grave or not context.facts.is_a(found.against, SHIYI.EmergencySign)
    return grave and context.facts.is_a(found.against, SHIYI.Condition)


_WOMEN = frozenset({"population-pregnant", "population-lactating"})


def _state(context: AnswerContext, found: Finding) -> tuple[object, ...]:
    pregnant = found.against.endswith("population-pregnant")
    return (
        not pregnant,
        found.severity != "contraindicated",
        not context.facts.is_a(found.against, SHIYI.Population),
        not context.facts.is_a(found.against, SHIYI.Disease),  # which people know that they have
        -found.fact.confidence,
        found.fact.claim,
    )


_MOST, _MOST_STATES = 2, 3
_MOST_HELD: Final = 24  # candidates come best first


def write_not_recommended(context: AnswerContext, choice: Candidates, part: Contribution) -> None:
    """Write what the asker's own state forbids, what a possible pattern does, and taboos."""
    section = part.section("h_held")
    count = _write_vetoed(context, choice, part)
    _withhold(context, choice, part, 1)
    if count < _MOST:
        _taboos(context, part)
    del section.lines[_MOST:]


def _write_vetoed(context: AnswerContext, choice: Candidates, part: Contribution) -> int:
    """Return what medicines, allergies or another state of the person keep off the list."""
    own = set(context.parsed.ailments)
    reasons: dict[str, None] = {}
    for candidate in choice.vetoed:
        mine = (
            f
            for f in candidate.vetoes
            if not (f.left_out and f.material == f.against)
            and (not f.facts or f.fact.predicate not in TOXIC)
        )
        found = next((f for f in mine if f.against not in own), None)
        if found is None or len(reasons) == 2:
            continue
        ground = found.claims[0] if found.claims else found.material
        if ground in reasons:
            continue
        reasons[ground] = None
        text = context.verbalizer.reason(found)
        note = context.verbalizer.note(found.fact).rstrip("。.") if found.facts else ""
        text += ("；" if context.verbalizer.language == "zh" else "; ") + note if note else ""
        name = context.verbalizer.verbalize("w_name", x=context.verbalizer.name(candidate.iri))
        part.section("h_held").item((name, ()), (text, found.stated))
        part.warn(context, found, is_stated=True)
    return len(reasons)


def _taboos(context: AnswerContext, part: Contribution) -> None:
    """Name common foods that a source advises against in the trouble itself."""
    verbalizer = context.verbalizer
    for ailment in context.parsed.ailments:
        found = {
            fact.other(near): fact
            for near in reversed(context.facts.above(ailment))
            for fact in objections(context, near)
            if context.facts.is_a(food := fact.other(near), *MATERIAL)
            and context.kind(food) != "dish"
            and not context.facts.is_a(food, SHIYI.Formula)
        }
        rank, is_a = precedence(context, found), context.facts.is_a
        ranked = sorted(found.items(), key=lambda i: (not is_a(i[0], SHIYI.Food), *rank(*i)))[:3]
        if ranked:
            text = verbalizer.verbalize(
                "b_taboo",
                sign=verbalizer.the(ailment),
                items=verbalizer.names(iri for iri, _ in ranked),
            )
            part.section("h_held").add(text, *(fact for _, fact in ranked))
            return


def precedence(
    context: AnswerContext, things: Iterable[str]
) -> Callable[[str, Fact], tuple[object, ...]]:
    """Return the sort key of things to avoid, each with its claim: what is forbidden comes first.

    Medicines come last, since whether one is taken is for the doctor to decide.
    A group comes before its members, since who avoids offal avoids liver; then the surest, the one
    that most sources name, and the one that is unsuitable in the fewest states.
    """
    facts, evidences = context.facts, context.evidences
    members = {low for each in things for low in facts.below(each) if low != each}

    def place(thing: str, fact: Fact) -> tuple[object, ...]:
        single = members.isdisjoint(facts.below(thing))
        sources = len({each.source for each in evidences.of(fact.claim, "en")})
        states = len(facts.into(thing, SHIYI.unsuitableFood))
        sure = round(fact.confidence, 1)
        forbidden = fact.predicate in (SHIYI.contraindicatedIn, SHIYI.unsuitableFood)
        medicine, covered = facts.is_a(thing, SHIYI.Drug), thing in members
        return medicine, not forbidden, covered, -sure, single, -sources, states, fact.claim

    return place


def objections(context: AnswerContext, state: str) -> tuple[Fact, ...]:
    """List what is recorded against in a state, either way round."""
    return (*context.facts.of(state, SHIYI.unsuitableFood), *context.facts.into(state, *CAUTION))


def _withhold(context: AnswerContext, choice: Candidates, part: Contribution, most: int) -> None:
    """State the facts about what is withheld: the gravest in full, the others by their reason."""
    waiting = [
        c for c in choice.waiting if c.reservations and (c.fits or context.differential.undecided)
    ]
    ranked = sorted(waiting[:_MOST_HELD], key=lambda c: _gravity(context, c))
    shown: set[str] = set()
    for candidate in ranked:
        telling = (_excluding_materials(context, candidate) or [candidate.iri])[0]
        if telling in shown or len(shown) >= most:
            continue
        found = next(
            (f for f in candidate.reservations if not f.through), candidate.reservations[0]
        )
        pieces = _in_full(context, candidate, telling) if not shown else [_reason(context, found)]
        shown.add(telling)
        name = context.verbalizer.verbalize("w_name", x=context.verbalizer.name(candidate.iri))
        part.section("h_held").item((name, ()), *pieces)
        part.warn(context, found, is_stated=True)


def _reason(context: AnswerContext, found: Finding) -> Piece:
    return context.verbalizer.reason(found), found.stated


def _in_full(context: AnswerContext, candidate: Candidate, telling: str) -> list[Piece]:
    """State the effect, the nature of the material that matters, and where it is forbidden."""
    verbalizer = context.verbalizer
    mark = "；" if verbalizer.language == "zh" else "; "
    pieces: list[Piece] = []
    if context.differential.undecided:
        key = f"b_held_{candidate.effect}" if candidate.effect else "b_held"
        pieces.append((verbalizer.verbalize(key), ()))
    text, facts = verbalizer.profile(telling, only=[SHIYI.hasNature])
    against = {"cold": "cooling", "hot": "warming"}.get(
        context.differential.leaning, candidate.effect
    )
    if text and candidate.effect == against:
        pieces.append((text, facts))
    found = (_list_warned(context, telling) or candidate.reservations)[0]
    line = verbalizer.warned(found) + (
        f"{mark}{note}" if (note := context.verbalizer.note(found.fact).rstrip("。.")) else ""
    )
    pieces.append((line, found.stated))
    return [(text if i == 0 else mark + text, facts) for i, (text, facts) in enumerate(pieces)]


def _gravity(context: AnswerContext, candidate: Candidate) -> tuple[object, ...]:
    """Place first what was asked for, is forbidden outright, by most sources."""
    outright = [f for f in candidate.reservations if f.fact.predicate == SHIYI.contraindicatedIn]
    direct = [f for f in outright if not f.through]
    parts = [
        candidate.iri,
        *(f.object for f in context.facts.of(candidate.iri, SHIYI.hasIngredient)),
    ]
    sources = sum(
        len(context.evidences.of(f.fact.claim, context.verbalizer.language))
        for p in parts
        for f in _list_warned(context, p)
        if f.severity == "contraindicated"
    )
    return (not candidate.fits, not direct, not outright, -sources, len(parts), candidate.iri)


def _excluding_materials(context: AnswerContext, candidate: Candidate) -> list[str]:
    """List the material that makes a dish what it is here: warned of, and of its effect."""
    links = context.facts.of(candidate.iri, SHIYI.hasIngredient)
    if not links:
        return [candidate.iri]
    ranked = sorted(
        {link.object for link in links},
        key=lambda m: (
            -len(_list_warned(context, m)),
            effect_of(context.facts, m)[0] != candidate.effect,
            m,
        ),
    )
    return [m for m in ranked if _list_warned(context, m) or effect_of(context.facts, m)[0]]


def _list_warned(context: AnswerContext, material: str) -> tuple[Finding, ...]:
    patterns = [p.iri for p in context.differential.patterns]
    found = context.safety.against_states(material, patterns)
    return tuple(
        sorted(
            found,
            key=lambda f: (
                WARNINGS.index(f.severity),
                bool(f.through),
                -len(context.evidences.of(f.fact.claim, "en")),
                f.claims,
            ),
        )
    )
