"""A claim that was withdrawn between retrieval and answer takes with it what rested on it."""

from shiyi.answering.evidence import Evidences
from shiyi.answering.parts import Part
from shiyi.answering.phrases import say


def without_withdrawn(part: Part, evidences: Evidences, language: str) -> None:
    """Take out lines, warnings, recommendations and paths whose claim is no longer accepted.

    What is left out is told among what is missing, never silently.
    """
    sections = (part.opening, *part.sections)
    cited = {f.claim for section in sections for line in section.lines for f in line.facts}
    cited |= {claim for warning in part.warnings for claim in warning.claims}
    gone = {claim for claim in cited if not evidences.stands(claim)}
    if not gone:
        return
    for section in sections:
        section.lines = [
            line for line in section.lines if not any(f.claim in gone for f in line.facts)
        ]
    part.warnings = [w for w in part.warnings if not gone.intersection(w.claims)]
    part.recommendations = [r for r in part.recommendations if not gone.intersection(r.claims)]
    part.paths = [p for p in part.paths if not any(hop.claim in gone for hop in p.hops)]
    part.missing.append(say(language, "s_gone"))
