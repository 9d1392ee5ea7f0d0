"""From sections and warnings to text with citation marks that a person likes to read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest
from typing import Final

from shiyi.answering.draft import Line, Section
from shiyi.answering.evidence import Evidences
from shiyi.answering.facts import Fact
from shiyi.answering.parts import Part
from shiyi.answering.phrases import capital, say
from shiyi.answering.safety import SEVERITIES
from shiyi.answering.withdrawn import without_withdrawn
from shiyi.model.answer import Citation, SafetyWarning, Sentence
from shiyi.ontology.terms import SHIYI

ORDER: Final = (
    "h_compare", "h_why", "h_branches", "h_held", "h_candidates", "h_facts", "h_rules", "h_caution",
    "h_paths", "h_ask", "h_doctor", "h_missing",
)  # fmt: skip
_CARE: Final = ("h_caution", "h_doctor")
_MOST_LINES: Final = 12
# cited each by itself: what sources dispute
_EACH: Final = frozenset({SHIYI.hasNature})
_MOST_MARKS: Final = 2  # ours: for one piece of a sentence; more only clutter it


@dataclass(slots=True)
class Numbers:
    """Gives each cited claim its number: marked ones as they appear, then what stands beside them.

    Beside them stand the twins of texts in the other language and all that warnings rest on.
    """

    evidences: Evidences
    language: str
    facts: dict[str, Fact] = field(default_factory=dict)
    silent: dict[str, Fact] = field(default_factory=dict)
    more: dict[str, Fact] = field(default_factory=dict)  # all that the text rests on

    def marks(self, facts: Iterable[Fact]) -> tuple[str, tuple[str, ...]]:
        """Give ``[1][2]`` for some facts, and the claims that are cited with these marks."""
        every = list({f.claim: f for f in facts}.values())
        chosen = self._chosen(every)
        twins = [f for f in every if f.language and any(_same_text(f, c) for c in chosen)]
        said = []
        for fact in chosen:
            if fact.language in {"", self.language} or not twins:
                self.facts.setdefault(fact.claim, fact)
                said.append(list(self.facts).index(fact.claim) + 1)
        self.silent |= {f.claim: f for f in (*chosen, *twins)}
        self.more |= {f.claim: f for f in every}
        cited = tuple(dict.fromkeys(f.claim for f in (*chosen, *twins)))
        return "".join(f"[{number}]" for number in sorted(said)), cited

    def _chosen(self, facts: list[Fact]) -> list[Fact]:
        """Choose the fewest that stand for the others: one of each relation and set of sources.

        Claims of one relation that one book makes, such as a list of ingredients, are cited by the
        first; a path by one claim for each of its hops; what sources dispute by both sides.
        """
        spoken = [f for f in facts if f.language in {"", self.language}] or facts
        each_one = [f for f in spoken if f.predicate in _EACH]
        kinds: dict[tuple[str, frozenset[str]], Fact] = {}
        for fact in spoken:
            name, sources = fact.predicate.value, self.evidences.sources(fact.claim)
            covered = any(name == known and sources <= said for known, said in kinds)
            if not covered and fact not in each_one:
                kinds[name, sources] = fact
        relations: dict[str, list[Fact]] = {}
        for (name, _), fact in kinds.items():
            relations.setdefault(name, []).append(fact)
        turns = (each for rank in zip_longest(*relations.values()) for each in rank if each)
        return [*each_one, *islice(turns, max(_MOST_MARKS, len(relations)))]

    def citations(self) -> tuple[Citation, ...]:
        """List what was cited, with its evidence."""
        every = {**self.facts, **self.silent}
        numbered = enumerate(every.values(), 1)
        return tuple(self.evidences.citation(n, fact, self.language) for n, fact in numbered)

    def further(self) -> tuple[Citation, ...]:
        """List what the text rests on besides, numbered on."""
        rest = (fact for claim, fact in self.more.items() if claim not in self.silent)
        numbered = enumerate(rest, 1 + len({**self.facts, **self.silent}))
        return tuple(self.evidences.citation(n, fact, self.language) for n, fact in numbered)


def _same_text(one: Fact, other: Fact) -> bool:
    return one.subject == other.subject and one.predicate == other.predicate


@dataclass(frozen=True, slots=True)
class Composed:
    """The text, its sentences and its citations."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    more: tuple[Citation, ...]  # what the text rests on besides
    care: str = ""  # the sections that stand whoever writes the rest
    care_sentences: tuple[Sentence, ...] = ()


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
            marked, claims = self._marked(line)
            self.sentences.append(Sentence(text, claims))
            indent = "  " * (line.depth - 1) + "- " if section.heading else ""
            said.append(indent + capital(marked, self.language))
        if not said:
            return ""
        if not section.heading:
            return "\n\n".join(said)
        return f"### {say(self.language, section.heading)}\n" + "\n".join(said)

    def _marked(self, line: Line) -> tuple[str, tuple[str, ...]]:
        done, claims = "", list[str]()
        for text, facts in line.pieces:
            marks, cited = self.numbers.marks(facts)
            space = " " if marks and self.language == "en" else ""
            done += text + space + marks
            claims += cited
        return done, tuple(dict.fromkeys(claims))

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
            marks, _ = self.numbers.marks(facts)
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
    care, cautious = list[str](), list[Sentence]()
    for key in ORDER:
        if key in by_heading:
            before = len(page.sentences)
            blocks.append(page.block(by_heading[key]))
            if key in _CARE and blocks[-1]:
                care.append(blocks[-1])
                cautious += page.sentences[before:]
    blocks += _tail(part, page)
    text = "\n\n".join(block for block in blocks if block)
    numbers = page.numbers
    return Composed(
        text, tuple(page.sentences), numbers.citations(), numbers.further(),
        "\n\n".join(care), tuple(cautious),
    )  # fmt: skip


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
