"""From sections and warnings to text with citation marks that a person likes to read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.draft import Section
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Part
from shiyi.answering.phrases import say
from shiyi.answering.safety import SEVERITIES
from shiyi.model.answer import Citation, SafetyWarning, Sentence

ORDER: Final = (
    "h_compare", "h_why", "h_states", "h_branches", "h_held", "h_candidates", "h_facts", "h_rules", "h_paths",
    "h_how", "h_caution", "h_ask", "h_check", "h_doctor", "h_missing",
)  # fmt: skip
_MOST_LINES: Final = 16


@dataclass(slots=True)
class Numbers:
    """Gives each cited claim its number, in order of appearance."""

    facts: dict[str, Fact] = field(default_factory=dict)

    def marks(self, facts: Iterable[Fact]) -> str:
        """Give ``[1][2]`` for some facts."""
        said = []
        for fact in facts:
            self.facts.setdefault(fact.claim, fact)
            mark = f"[{list(self.facts).index(fact.claim) + 1}]"
            if mark not in said:
                said.append(mark)
        return "".join(said)

    def citations(self, evidences: Evidences, language: str) -> tuple[Citation, ...]:
        """List what was cited, with its evidence."""
        numbered = enumerate(self.facts.values(), 1)
        return tuple(evidences.citation(n, fact, language) for n, fact in numbered)


@dataclass(frozen=True, slots=True)
class Composed:
    """The text, its sentences and its citations."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]


def compose(part: Part, evidences: Evidences, language: str) -> Composed:
    """Write opening, warnings, sections in a fixed order, then what the numbers mean."""
    numbers, sentences, blocks = Numbers(), list[Sentence](), list[str]()
    opening = _block(part.opening, numbers, sentences, language)
    urgent = [w for w in part.warnings if w.severity == "emergency"]
    others = [w for w in part.warnings if w.severity != "emergency"]
    blocks += [_warned(urgent, part, numbers, sentences), opening]
    if others:
        said = _warned(others, part, numbers, sentences)
        blocks += [f"### {say(language, 'h_warnings')}", said] if said else []
    by_heading = {section.heading: section for section in part.sections}
    for key in ORDER:
        if key in by_heading:
            blocks.append(_block(by_heading[key], numbers, sentences, language))
    blocks += _tail(part, numbers, sentences, language)
    text = "\n\n".join(block for block in blocks if block)
    return Composed(text, tuple(sentences), numbers.citations(evidences, language))


def ranked(warnings: Iterable[SafetyWarning]) -> tuple[SafetyWarning, ...]:
    """Put the gravest first."""
    return tuple(sorted(warnings, key=lambda w: SEVERITIES.index(w.severity)))


def _block(section: Section, numbers: Numbers, sentences: list[Sentence], language: str) -> str:
    said: dict[str, None] = {}
    for line in section.lines[:_MOST_LINES]:
        if any(line.text == s.text for s in sentences):
            continue
        sentences.append(Sentence(line.text, tuple(dict.fromkeys(f.claim for f in line.facts))))
        marks = numbers.marks(line.facts)
        indent = "" if not section.heading else "  " * (line.depth - 1) + "- "
        said[f"{indent}{line.text}{_gap(language, marks)}{marks}"] = None
    if not said:
        return ""
    if not section.heading:
        return "\n\n".join(said)
    return f"### {say(language, section.heading)}\n" + "\n".join(said)


def _gap(language: str, marks: str) -> str:
    return " " if marks and language == "en" else ""


def _warned(
    warnings: Sequence[SafetyWarning], part: Part, numbers: Numbers, sentences: list[Sentence]
) -> str:
    lines = []
    for warning in ranked(warnings):
        if any(warning.text == s.text for s in sentences):
            continue
        sentences.append(Sentence(warning.text, warning.claims))
        facts = [part.facts[c] for c in warning.claims if c in part.facts]
        lines.append(f"> ⚠ {warning.text}{numbers.marks(facts)}")
    return "\n>\n".join(lines)


def _tail(part: Part, numbers: Numbers, sentences: list[Sentence], language: str) -> list[str]:
    blocks = []
    if part.missing:
        heading = f"### {say(language, 'h_missing')}\n"
        blocks.append(heading + "\n".join(f"- {each}" for each in part.missing))
    closing = [say(language, "s_not_diagnosis")]
    if numbers.facts:
        closing.insert(0, say(language, "s_confidence"))
    sentences += [Sentence(text) for text in closing]
    blocks.append("\n".join(f"*{text}*" for text in closing))
    return blocks
