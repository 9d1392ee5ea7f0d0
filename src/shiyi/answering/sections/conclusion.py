"""The verdict that an answer comes down to."""

from collections.abc import Sequence
from typing import Final

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import BENEFIT, COMPOSITION
from shiyi.answering.understanding.question import Question
from shiyi.answering.wording.draft import Composed, Contribution, ranked
from shiyi.model.answer import SafetyWarning, Verdict
from shiyi.ontology.terms import SHIYI

_RATINGS: Final = ("major", "moderate", "minor")


def conclude(
    parsed: Question, part: Contribution, composed: Composed, evidences: Evidences
) -> Verdict:
    """Return the verdict of an answer; its text is a sentence of the answer.

    A question whether something may be taken is judged by the gravest warning; without one it may
    be considered where a use is recorded, and else nothing is on record.
    """
    first = composed.sentences[0].text if composed.sentences else ""
    warnings = ranked(part.warnings)
    if warnings and warnings[0].severity == "emergency":
        return Verdict("emergency", warnings[0].text, "emergency")
    if parsed.wants("stop_medicine"):
        return Verdict("ask_first", first, "caution")
    if part.recommendations:
        return Verdict("may_be_considered", first)
    met = parsed.meets_anything()
    if parsed.groups and ((met and warnings) or (parsed.wants("may") and (met or not warnings))):
        return _of_taking(warnings, part, first, evidences)
    return Verdict("record" if composed.citations else "not_on_record", first)


def _of_taking(
    warnings: Sequence[SafetyWarning], part: Contribution, first: str, evidences: Evidences
) -> Verdict:
    if not warnings:
        rests = {f.predicate for line in part.opening.lines for f in line.facts}
        if rests <= {*COMPOSITION}:  # which permits nothing
            return Verdict("record" if rests else "not_on_record", first)
        used = not rests.isdisjoint((*BENEFIT, SHIYI.studiedFor, SHIYI.hasEfficacy))
        return Verdict("may_be_considered" if used else "ask_first", first)
    worst = warnings[0]
    alike = (each for each in warnings if each.severity == worst.severity)
    rated = {evidences.rating(claim) for each in alike for claim in each.claims}
    rating = next((r for r in _RATINGS if r in rated), "unrated")
    severity = rating if worst.severity == "interaction" else worst.severity
    grave = severity in {"contraindicated", "major"}
    return Verdict("do_not_combine" if grave else "ask_first", first or worst.text, severity)
