"""What an answer comes down to: one verdict, by the gravest warning or by what is recorded."""

from collections.abc import Sequence
from typing import Final

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import COMPOSITION
from shiyi.answering.understanding.frames.frame import Frame
from shiyi.answering.understanding.intents import Intent
from shiyi.answering.understanding.question import ParsedQuestion, meets_anything
from shiyi.answering.wording.draft import Composed, Contribution, ranked
from shiyi.model.answer import SafetyWarning, Verdict

_LISTING: Final = frozenset({"avoid", "list"})
_RATINGS: Final = ("major", "moderate", "minor")


def conclude(
    parsed: ParsedQuestion,
    frame: Frame | None,
    part: Contribution,
    composed: Composed,
    evidences: Evidences,
) -> Verdict:
    """Return the verdict of an answer; its text is a sentence of the answer.

    A question whether something may be taken is judged by the gravest warning; without one it may
    be considered where a use is recorded, and else nothing is on record.
    """
    first = composed.sentences[0].text if composed.sentences else ""
    warnings = ranked(part.warnings)
    if warnings and warnings[0].severity == "emergency":
        return Verdict("emergency", warnings[0].text, "emergency")
    if part.recommendations:
        return Verdict("may_be_considered", first)
    if parsed.wants(Intent.STOP):
        return Verdict("ask_first", first, "caution")
    if _is_whether(parsed, frame):
        return _of_taking(warnings, part, first, evidences)
    if frame is not None and frame.ask in _LISTING:  # the list itself, and not what introduces it
        first = next((each.text for each in composed.sentences if each.claims), first)
    return Verdict("record" if composed.citations else "not_on_record", first)


def _is_whether(parsed: ParsedQuestion, frame: Frame | None) -> bool:
    """Return whether it is asked if things that are named may be taken."""
    may = parsed.wants(Intent.MAY) if frame is None else frame.ask == "may"
    return bool(parsed.materials) and (may or meets_anything(parsed))


def _of_taking(
    warnings: Sequence[SafetyWarning], part: Contribution, first: str, evidences: Evidences
) -> Verdict:
    if not warnings:
        stated = [fact for line in part.opening.lines for fact in line.facts]
        if all(fact.predicate in COMPOSITION for fact in stated):  # which permits nothing
            return Verdict("record" if stated else "not_on_record", first)
        return Verdict("may_be_considered", first)
    worst = warnings[0]
    rated = {evidences.rating(claim) for claim in worst.claims}
    rating = next((r for r in _RATINGS if r in rated), "unrated")
    severity = rating if worst.severity == "interaction" else worst.severity
    grave = severity in {"contraindicated", "major"}
    return Verdict("do_not_combine" if grave else "ask_first", first or worst.text, severity)
