"""The focus of a frame: what a question names, the part each plays, and whether it is so."""

from collections.abc import Iterator
from typing import Final

from shiyi.answering.knowledge.facts import MATERIAL, Facts
from shiyi.answering.understanding.frames.frame import Focus
from shiyi.answering.understanding.frames.reader import assertion_of
from shiyi.answering.understanding.question import ParsedQuestion
from shiyi.model.mention import Mention
from shiyi.ontology.terms import SHIYI

_KINDS: Final = (
    ("medicine", (SHIYI.Drug, SHIYI.DrugClass)),
    ("complaint", (SHIYI.Symptom,)),
    ("condition", (SHIYI.Condition,)),
    ("aim", (SHIYI.Therapy, SHIYI.Efficacy)),
    ("asked_about", (*MATERIAL, SHIYI.Rule, SHIYI.RegulatoryStatus)),
)


def focus_of(parsed: ParsedQuestion, facts: Facts) -> tuple[Focus, ...]:
    """List the linked mentions of a question with their roles, in the order of its words.

    Groups of people are no focus: they stand among the states of the person.
    """
    return tuple(_focus(parsed, facts))


def _focus(parsed: ParsedQuestion, facts: Facts) -> Iterator[Focus]:
    text, person = parsed.text.aligned, parsed.person
    for m in sorted(parsed.mentions, key=lambda each: each.start):
        if not m.iri or facts.is_a(m.iri, SHIYI.Population):
            continue
        role = _role(m, parsed, facts)
        denied = m.negated or m.iri in person.left_out
        yield Focus(
            m.text,
            m.start,
            m.end,
            m.iri,
            facts.label(m.iri, parsed.language),
            role,
            "denied" if denied else assertion_of(text[: m.start], text[m.end :]),
        )


def _role(mention: Mention, parsed: ParsedQuestion, facts: Facts) -> str:
    if mention.iri in parsed.theirs or mention.iri in parsed.mine:
        return "other_person"
    if mention.iri in parsed.person.allergies:
        return "allergy"
    found = (name for name, kinds in _KINDS if facts.is_a(mention.iri, *kinds))
    return next(found, "topic")
