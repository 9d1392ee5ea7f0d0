"""From sections and warnings to text with citation marks that a person likes to read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from shiyi.answering.draft import Line, Section
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Part
from shiyi.answering.phrases import capital, say
from shiyi.answering.safety import SEVERITIES
from shiyi.answering.withdrawn import without_withdrawn
from shiyi.model.answer import Citation, SafetyWarning, Sentence

ORDER: Final = (
    "h_compare", "h_why", "h_branches", "h_held", "h_candidates", "h_facts", "h_rules", "h_caution",
    "h_paths", "h_ask", "h_doctor", "h_missing",
)  # fmt: skip
_MOST_LINES: Final = 12
_MOST_MARKS: Final = 3  # for one piece of a sentence; all its claims are citations


@dataclass(slots=True)
class Numbers:
    """Gives each cited claim its number: marked ones as they appear, then the others."""

    evidences: Evidences
    language: str
    facts: dict[str, Fact] = field(default_factory=dict)
    silent: dict[str, Fact] = field(default_factory=dict)

    def marks(self, facts: Iterable[Fact]) -> str:
        """Give ``[1][2]`` for some facts: at most three marks, of different sources if possible."""
        every = list({f.claim: f for f in facts}.values())
        self.silent |= {f.claim: f for f in every}
        said = []
        for fact in self._chosen(every):
            self.facts.setdefault(fact.claim, fact)
            said.append(list(self.facts).index(fact.claim) + 1)
        return "".join(f"[{number}]" for number in sorted(said))

    def _chosen(self, facts: list[Fact]) -> list[Fact]:
        spoken = [f for f in facts if f.language in {"", self.language}] or facts
        if len(spoken) <= _MOST_MARKS:
            return spoken
        seen: set[str] = set()
        fresh, known = list[Fact](), list[Fact]()
        for fact in spoken:
            sources = self.evidences.sources(fact.claim)
            (known if sources <= seen else fresh).append(fact)
            seen |= sources
        return [*fresh, *known][:_MOST_MARKS]

    def citations(self) -> tuple[Citation, ...]:
        """List what was cited, with its evidence."""
        every = {**self.facts, **self.silent}
        numbered = enumerate(every.values(), 1)
        return tuple(self.evidences.citation(n, fact, self.language) for n, fact in numbered)


@dataclass(frozen=True, slots=True)
class Composed:
    """The text, its sentences and its citations."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]


@dataclass(slots=True)
class _Page:
    """What has been written so far."""

    numbers: Numbers
    language: str
    sentences: list[Sentence] = field(default_factory=list)

    def block(self, section: Section) -> str:
        """Write a section; a line that stands above already is left out."""
        said = []
        for line in section.lines[:_MOST_LINES]:
            text = capital(line.text, self.language)
            if any(text == s.text for s in self.sentences):
                continue
            self.sentences.append(Sentence(text, tuple(f.claim for f in line.facts)))
            indent = "  " * (line.depth - 1) + "- " if section.heading else ""
            said.append(indent + capital(self._marked(line), self.language))
        if not said:
            return ""
        if not section.heading:
            return "\n\n".join(said)
        return f"### {say(self.language, section.heading)}\n" + "\n".join(said)

    def _marked(self, line: Line) -> str:
        done = ""
        for text, facts in line.pieces:
            marks = self.numbers.marks(facts)
            space = " " if marks and self.language == "en" else ""
            done += text + space + marks
        return done

    def warned(self, warnings: Sequence[SafetyWarning], part: Part) -> str:
        """Write warnings as a quotation, the gravest first."""
        lines = []
        for warning in ranked(warnings):
            facts = [part.facts[c] for c in warning.claims if c in part.facts]
            self.numbers.silent |= {f.claim: f for f in facts}
            known = any(warning.text == s.text for s in self.sentences)
            if known or warning.text in part.told:
                continue
            self.sentences.append(Sentence(warning.text, warning.claims))
            space = " " if self.language == "en" else ""
            marks = self.numbers.marks(facts)
            lines.append(f"> ⚠ {warning.text}{space if marks else ''}{marks}")
        return "\n>\n".join(lines)


def compose(part: Part, evidences: Evidences, language: str) -> Composed:
    """Write opening, warnings, sections in a fixed order, then what the numbers mean."""
    without_withdrawn(part, evidences, language)
    page = _Page(Numbers(evidences, language), language)
    urgent = [w for w in part.warnings if w.severity == "emergency"]
    others = [w for w in part.warnings if w.severity != "emergency"]
    blocks = [page.warned(urgent, part), page.block(part.opening)]
    if said := page.warned(others, part):
        blocks += [f"### {say(language, 'h_warnings')}\n\n{said}"]
    by_heading = {section.heading: section for section in part.sections}
    blocks += [page.block(by_heading[key]) for key in ORDER if key in by_heading]
    blocks += _tail(part, page)
    text = "\n\n".join(block for block in blocks if block)
    return Composed(text, tuple(page.sentences), page.numbers.citations())


def ranked(warnings: Iterable[SafetyWarning]) -> tuple[SafetyWarning, ...]:
    """Put the gravest first."""
    return tuple(sorted(warnings, key=lambda w: SEVERITIES.index(w.severity)))


def _tail(part: Part, page: _Page) -> list[str]:
    blocks, language = [], page.language
    missing = [each for each in part.missing if each not in part.told]
    if missing:
        heading = f"### {say(language, 'h_missing')}\n"
        blocks.append(heading + "\n".join(f"- {capital(each, language)}" for each in missing))
    closing = [say(language, "s_not_diagnosis")]
    if any("confidence" in s.text or "置信度" in s.text for s in page.sentences):
        closing.insert(0, say(language, "s_confidence"))
    page.sentences += [Sentence(text) for text in closing]
    blocks.append("\n".join(f"*{text}*" for text in closing))
    return blocks
