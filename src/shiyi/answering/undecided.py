"""Cold or heat not known: say so first, and list what would suit either case."""

from collections.abc import Iterable

from shiyi.answering.candidates import Candidate, Choice, mild
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Desk, Part
from shiyi.answering.thermal import Pattern
from shiyi.model.rdf import NamedNode
from shiyi.ontology.terms import SHIYI


def undecided(desk: Desk, part: Part) -> None:
    """Say that the trouble may be of cold or of heat, and that this decides."""
    voice, differential = desk.voice, desk.differential
    cold, hot = (differential.of_nature(n)[:2] for n in ("cold", "hot"))
    signs = [f for p in (*cold, *hot) for f in p.signs[:1]]
    natures = [f for p in (*cold[:1], *hot[:1]) for f in p.nature_facts[:1]]
    text = voice.say(
        "o_undecided", sign=voice.names(desk.reading.ailments), cold=voice.these(p.iri for p in cold),
        hot=voice.these(p.iri for p in hot),
    )  # fmt: skip
    part.opening.add(text, *signs, *natures)


def branches(desk: Desk, choice: Choice, part: Part) -> None:
    """List warm choices for cold and mild ones for heat, without any that a pattern forbids."""
    if not desk.differential.undecided:
        return
    section = part.section("h_branches")
    for nature in ("cold", "hot"):
        fitting = _fitting(desk, choice, nature)[: 2 if choice.open else 3]
        if not fitting:
            section.add(desk.voice.say(f"b_none_{nature}"))
            continue
        signs = _signs(desk, desk.differential.of_nature(nature))
        key = f"b_{nature}" if signs else f"b_{nature}_plain"
        text = desk.voice.say(
            key, items=desk.voice.names(c.iri for c in fitting),
            signs=desk.voice.names(f.object for f in signs),
        )  # fmt: skip
        section.add(text, *(_ground(c) for c in fitting), *signs)
        part.paths += [path for c in fitting for path in c.reason()[:1]]


def _fitting(desk: Desk, choice: Choice, nature: str) -> list[Candidate]:
    """List what no possible pattern speaks against; for cold, else what only heat speaks against.

    A cold drink in a cold pattern is the graver mistake, so heat gets mild choices only.
    """
    mine = [c for c in choice.waiting if c.branch == nature]
    free = [c for c in mine if not c.held]
    if nature == "hot":
        return [c for c in free if mild(c)]
    hot = {p.iri for p in desk.differential.of_nature("hot")}
    return free or [c for c in mine if all(f.against in hot for f in c.held)]


def _ground(candidate: Candidate) -> Fact:
    if candidate.paths:
        hop = candidate.reason()[0].hops[-1]
        return Fact(hop.subject, NamedNode(hop.predicate), hop.object, hop.claim, hop.confidence)
    return (*candidate.fits, *candidate.effect_facts)[0]


def _signs(desk: Desk, patterns: Iterable[Pattern]) -> list[Fact]:
    """List the signs that only these patterns have, so that they tell cold from heat."""
    mine = list(patterns)
    others = {p.iri for p in desk.differential.patterns} - {p.iri for p in mine}
    taken = {f.object for o in others for f in desk.facts.of(o, SHIYI.hasManifestation)}
    found: dict[str, list[Fact]] = {}
    for pattern in mine:
        for fact in desk.facts.of(pattern.iri, SHIYI.hasManifestation):
            if fact.object not in taken and fact.object not in desk.reading.ailments:
                found.setdefault(fact.object, []).append(fact)
    most = sorted(found.values(), key=lambda each: (-len(each), -each[0].confidence, each[0].claim))
    return [each[0] for each in most[:2]]
