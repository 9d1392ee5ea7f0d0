"""Drafts of answers: lines with the facts they rest on, composed to Markdown with citations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from typing import Final

from shiyi.answering.knowledge.evidence import Evidences
from shiyi.answering.knowledge.facts import (
    ADVERSE,
    CAUTION,
    INCOMPATIBLE,
    INTERACTION,
    TOXIC,
    Fact,
    Facts,
)
from shiyi.answering.knowledge.severity import WARNINGS
from shiyi.answering.safety import Finding, Safety
from shiyi.answering.understanding.differentiation import Differential
from shiyi.answering.understanding.question import Question, sanitize_words
from shiyi.answering.wording.verbalization import Verbalizer, capital, finish, join_names, verbalize
from shiyi.model.answer import Citation, Recommendation, SafetyWarning, Sentence
from shiyi.model.iris import resource
from shiyi.model.path import Path
from shiyi.ontology.terms import SHIYI

Piece = tuple[str, tuple[Fact, ...]]  # some words, and the facts that say so


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence in pieces, and how deep it stands (0 text, 1 item, 2 below)."""

    pieces: tuple[Piece, ...]
    depth: int = 1

    @property
    def text(self) -> str:
        """Return the words without marks."""
        return "".join(words for words, _ in self.pieces)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """List the facts of all pieces, each once."""
        return tuple({f.claim: f for _, facts in self.pieces for f in facts}.values())


@dataclass(slots=True)
class Section:
    """A heading (empty for the opening) and its lines; with ``columns`` each line is a row."""

    heading: str
    lines: list[Line] = field(default_factory=list)
    columns: tuple[str, ...] = ()

    def add(self, text: str, *facts: Fact, depth: int = 1) -> None:
        """Append a line."""
        self.lines.append(Line(((text, facts),), depth))

    def item(self, *pieces: Piece, depth: int = 1) -> None:
        """Append a line of pieces with their own marks."""
        self.lines.append(Line(tuple(p for p in pieces if p[0]), depth))


def _append(to: Section, other: Section) -> None:
    written = {line.text for line in to.lines}
    to.lines += [line for line in other.lines if line.text not in written]


# what to watch when such a medicine or disease is in play; general safety sentences
_WATCH: Final = tuple((resource(name).value, key) for name, key in (
    ("drug-vka", "s_inr"), ("drug-antithrombotics", "s_bleeding"),
    ("drug-antidiabetics", "s_glucose"), ("disease-diabetes-mellitus", "s_glucose"),
    ("population-diabetic", "s_glucose"), ("drug-cns-depressants", "s_sedation"),
    ("drug-antihypertensives", "s_pressure"), ("disease-hypertensive-disorder", "s_pressure"),
))  # fmt: skip
_KINDS: Final = ((SHIYI.Dish, "dish"), (SHIYI.Food, "food"), (SHIYI.DSIngredient, "supplement"))


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """A question with everything at hand to answer it."""

    parsed: Question
    facts: Facts
    evidences: Evidences
    safety: Safety
    verbalizer: Verbalizer
    differential: Differential

    def kind(self, iri: str) -> str:
        """Return food, dish, herb or supplement."""
        return next((kind for node, kind in _KINDS if self.facts.is_a(iri, node)), "herb")

    def watch(self, *concepts: str) -> list[str]:
        """Return the general sentences that belong to some medicines or diseases."""
        near = {broader for concept in concepts for broader in self.facts.above(concept)}
        keys = dict.fromkeys(key for iri, key in _WATCH if iri in near)
        return [self.verbalizer.verbalize(key) for key in keys]

    def warning(self, finding: Finding) -> SafetyWarning:
        """Turn a finding into a warning; of claims that nobody reviewed it says so."""
        text = self.verbalizer.state_finding(finding)
        if any(map(self.evidences.origin, finding.claims)):
            text = self.verbalizer.add_kind(text, finding.claims)
        return SafetyWarning(finding.severity, text, finding.claims)


@dataclass(slots=True)
class Contribution:
    """What one writer contributes."""

    opening: Section = field(default_factory=lambda: Section(""))
    sections: list[Section] = field(default_factory=list)
    warnings: list[SafetyWarning] = field(default_factory=list)
    shown: set[str] = field(default_factory=set)  # warnings that a line of the text gives already
    facts: dict[str, Fact] = field(default_factory=dict)  # of the warnings, by claim
    recommendations: list[Recommendation] = field(default_factory=list)
    follow_up: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    concluded: str = ""  # verdict of the guidance that answers

    def has_claims(self) -> bool:
        """Return whether anything written so far rests on a claim."""
        return any(line.facts for s in (self.opening, *self.sections) for line in s.lines)

    def section(self, heading: str) -> Section:
        """Return the section under ``heading``, new at the end if there is none."""
        for known in self.sections:
            if known.heading == heading:
                return known
        self.sections.append(Section(heading))
        return self.sections[-1]

    def warn(self, context: AnswerContext, finding: Finding, *, is_stated: bool = False) -> None:
        """Add a finding as a warning, once; ``shown`` where a line of the text says it."""
        warning = context.warning(finding)
        if is_stated:
            self.shown.add(warning.text)
        if warning.text not in {w.text for w in self.warnings}:
            self.warnings.append(warning)
            self.facts |= {f.claim: f for f in finding.stated_claims}

    def note(self, *facts: Fact) -> None:
        """Keep facts that a warning cites."""
        self.facts |= {f.claim: f for f in facts}

    def extend(self, other: "Contribution") -> None:
        """Append what another writer contributed, a line that is written already but once."""
        _append(self.opening, other.opening)
        for section in other.sections:
            mine = self.section(section.heading)
            _append(mine, section)
            mine.columns = mine.columns or section.columns
        self.warnings += [w for w in other.warnings if w not in self.warnings]
        self.shown |= other.shown
        self.facts |= other.facts
        self.recommendations += other.recommendations
        for own, theirs in ((self.follow_up, other.follow_up), (self.missing, other.missing)):
            own += [each for each in theirs if each not in own]
        self.paths += other.paths
        self.queries += other.queries
        self.concluded = self.concluded or other.concluded

    def omit_questions(self, questions: Iterable[str]) -> None:
        """Remove what was asked back before, by itself or with more."""
        before = tuple(questions)

        def is_new(text: str) -> bool:
            return not any(each.startswith(text.rstrip("?\uff1f")) for each in before)

        self.follow_up = [each for each in self.follow_up if is_new(each)]
        section = self.section("h_ask")
        section.lines = [line for line in section.lines if not line.text or is_new(line.text)]

    def shorten(self) -> None:
        """Keep the direct answer and the warnings; with neither, the first lines of the record."""
        sections = [] if self.opening.lines else self.sections[:1]
        for section in (self.opening, *sections):
            del section.lines[_BRIEF_LINES:]
        self.sections = sections
        self.recommendations = self.recommendations[:_BRIEF_LINES]


def question_texts(context: AnswerContext, concepts: Iterable[str], part: Contribution) -> None:
    """Ask what decides the answer: the questions recorded for some symptoms or syndromes."""
    section = part.section("h_ask")
    for concept in concepts:
        facts = context.facts.texts(concept, SHIYI.questionText, context.verbalizer.language)
        for fact in facts[:1]:
            text = context.verbalizer.words(fact)
            if text not in part.follow_up and len(part.follow_up) < _MOST_ASKED:
                part.follow_up.append(text)
                section.add(text)  # a question states nothing to be cited


def write_red_flags(
    context: AnswerContext, concepts: Iterable[str], part: Contribution, *, persist: bool = False
) -> None:
    """Write the signs that need a doctor; with ``persist`` also that lasting complaints do."""
    facts: list[Fact] = []
    for concept in concepts:
        for broader in context.facts.above(concept):
            facts += context.facts.of(broader, SHIYI.hasRedFlag)
    flags = list({f.object: f for f in facts}.values())[:_MOST_FLAGS]
    if flags:
        signs = context.verbalizer.names((f.object for f in flags), "or")
        key = "s_redflag_persist" if persist else "s_redflag"
        part.section("h_doctor").add(context.verbalizer.verbalize(key, signs=signs), *flags)
    elif persist:
        part.section("h_doctor").add(context.verbalizer.verbalize("s_persist"))


def checks(context: AnswerContext, concepts: Iterable[str], part: Contribution) -> None:
    """Write what a doctor should rule out; concepts with equal lists share a line."""
    signs: dict[tuple[str, ...], list[str]] = {}
    grounds: dict[tuple[str, ...], list[Fact]] = {}
    for concept in concepts:
        found_facts = context.facts.of(concept, SHIYI.warrantsCheckFor)[:_MOST_CHECKS]
        key = tuple(sorted(f.object for f in found_facts))
        if found_facts:
            signs.setdefault(key, []).append(concept)
            grounds.setdefault(key, []).extend(found_facts)
    for key, meant in list(signs.items())[:2]:
        facts = grounds[key]
        text = context.verbalizer.verbalize(
            "c_check",
            sign=context.verbalizer.names(meant),
            diseases=context.verbalizer.names((f.object for f in facts), "or"),
        )
        part.section("h_doctor").add(text, *facts)


_MOST_ASKED, _MOST_FLAGS, _MOST_CHECKS = 3, 6, 3


def remove_withdrawn(part: Contribution, evidences: Evidences, language: str) -> None:
    """Remove lines, warnings, recommendations and paths of claims no longer accepted.

    What is left out is reported among what is missing, never silently.
    """
    sections = (part.opening, *part.sections)
    cited = {f.claim for section in sections for line in section.lines for f in line.facts}
    cited |= {claim for warning in part.warnings for claim in warning.claims}
    gone = evidences.find_withdrawn(cited)
    if not gone:
        return
    for section in sections:
        section.lines = [
            line for line in section.lines if not any(f.claim in gone for f in line.facts)
        ]
    part.warnings = [w for w in part.warnings if not gone.intersection(w.claims)]
    part.recommendations = [r for r in part.recommendations if not gone.intersection(r.claims)]
    part.paths = [p for p in part.paths if not any(hop.claim in gone for hop in p.hops)]
    part.missing.append(verbalize(language, "s_gone"))


def remove_unopened(part: Contribution, verbalizer: Verbalizer) -> None:
    """Remove what rests on no opened work or table, and say how much of what.

    Harms stay, each marked as common knowledge: to leave one out would be unsafe.
    """
    opened = verbalizer.evidences.is_opened
    facts: dict[str, Fact] = {}
    for section in (part.opening, *part.sections):
        lines = list[Line]()
        for line in section.lines:
            unopened = [f for f in line.facts if not opened(f.claim)]
            if not unopened or any(f.predicate in _HARMS for f in line.facts):
                lines.append(line)
            else:
                facts |= {f.claim: f for f in unopened}
        section.lines = lines
    body = {line.text for section in (part.opening, *part.sections) for line in section.lines}
    part.shown &= body
    part.recommendations = [r for r in part.recommendations if all(map(opened, r.claims))]
    part.paths = [p for p in part.paths if all(opened(hop.claim) for hop in p.hops)]
    if facts:
        relations = dict.fromkeys(
            verbalizer.facts.property_label(f.predicate, verbalizer.language)
            for f in facts.values()
        )
        names = join_names(verbalizer.language, list(relations)[:6])
        key = {"n": str(len(facts)), "relations": names}
        part.missing.append(verbalizer.verbalize("m_unopened", **key))
    if not part.opening.lines and not any(section.lines for section in part.sections):
        part.opening.add(verbalizer.verbalize("o_not_known"))


_HARMS: Final = frozenset({
    *ADVERSE, *CAUTION, *INCOMPATIBLE, *TOXIC, *INTERACTION, SHIYI.hasRedFlag,
    SHIYI.unsuitableFood, SHIYI.confusedWith, SHIYI.warrantsCheckFor,
})  # fmt: skip


ORDER: Final = (
    "h_table", "h_compare", "h_why", "h_branches", "h_held", "h_candidates", "h_facts", "h_school",
    "h_rules", "h_caution", "h_ask", "h_doctor", "h_missing",
)  # fmt: skip
_CARE: Final = ("h_caution", "h_doctor")
_ALONE: Final = (*_CARE, "h_compare", "h_ask")  # with few lines these need no heading
_FEW: Final = 2
_MOST_LINES: Final = 12
_BRIEF_LINES: Final = 2  # of an answer that is to be short
# cited each by itself: what sources dispute
_EACH: Final = frozenset({SHIYI.hasNature})
_MOST_MARKS: Final = 2  # Shiyi's: for one piece of a sentence; more only clutter it


@dataclass(slots=True)
class CitationNumbers:
    """Numbers each cited claim: marked ones as they appear, then what stands beside them.

    Beside them stands all that warnings rest on.
    """

    evidences: Evidences
    language: str
    facts: dict[str, Fact] = field(default_factory=dict)
    silent: dict[str, Fact] = field(default_factory=dict)
    more: dict[str, Fact] = field(default_factory=dict)  # all that the text rests on

    def marks(self, facts: Iterable[Fact]) -> tuple[str, tuple[str, ...]]:
        """Return ``[1][2]`` for some facts, and the claims that are cited with these marks."""
        all_facts = list({f.claim: f for f in facts}.values())
        chosen_facts = self._choose_facts(all_facts)
        marked = []
        for fact in chosen_facts:
            self.facts.setdefault(fact.claim, fact)
            marked.append(list(self.facts).index(fact.claim) + 1)
        self.silent |= {f.claim: f for f in chosen_facts}
        self.more |= {f.claim: f for f in all_facts}
        cited = tuple(f.claim for f in chosen_facts)
        return "".join(f"[{number}]" for number in sorted(marked)), cited

    def _choose_facts(self, facts: list[Fact]) -> list[Fact]:
        """Choose the fewest that stand for the others: one of each relation and set of sources."""
        spoken_facts = [f for f in facts if f.language in {"", self.language}] or facts
        each_one = [f for f in spoken_facts if f.predicate in _EACH]
        kinds: dict[tuple[str, frozenset[str]], Fact] = {}
        for fact in spoken_facts:
            name, sources = fact.predicate.value, self.evidences.sources(fact.claim)
            covered = any(name == known and sources <= cited for known, cited in kinds)
            if not covered and fact not in each_one:
                kinds[name, sources] = fact
        relations: dict[str, list[Fact]] = {}
        for (name, _), fact in kinds.items():
            relations.setdefault(name, []).append(fact)
        turns = (each for rank in zip_longest(*relations.values()) for each in rank if each)
        return [*each_one, *islice(turns, max(_MOST_MARKS, len(relations)))]

    def citations(self) -> tuple[Citation, ...]:
        """List what was cited, with its evidence."""
        facts = {**self.facts, **self.silent}
        numbered = enumerate(facts.values(), 1)
        return tuple(self.evidences.citation(n, fact, self.language) for n, fact in numbered)

    def further(self) -> tuple[Citation, ...]:
        """List what the text rests on besides, numbered on."""
        rest = (fact for claim, fact in self.more.items() if claim not in self.silent)
        numbered = enumerate(rest, 1 + len({**self.facts, **self.silent}))
        return tuple(self.evidences.citation(n, fact, self.language) for n, fact in numbered)


@dataclass(frozen=True, slots=True)
class ComposedAnswer:
    """The text, its sentences and its citations."""

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    more: tuple[Citation, ...]  # what the text rests on besides
    care: str = ""  # sections that no model rewrites
    care_sentences: tuple[Sentence, ...] = ()


@dataclass(slots=True)
class _Page:
    """What has been written so far."""

    numbers: CitationNumbers
    verbalizer: Verbalizer
    sentences: list[Sentence] = field(default_factory=list)

    @property
    def language(self) -> str:
        """Return the language that is written."""
        return self.verbalizer.language

    def block(self, section: Section) -> str:
        """Write a section; a line that stands above already is left out."""
        if section.columns:
            return self._table(section)
        written = []
        for line in section.lines[:_MOST_LINES]:
            line = self._label_line(line)
            text = capital(line.text, self.language)
            if any(text == s.text for s in self.sentences):
                continue
            marked, claims = self._mark_line(line)
            self.sentences.append(Sentence(text, claims))
            written.append(capital(marked, self.language))
        if not written:
            return ""
        if not section.heading or (len(written) <= _FEW and section.heading in _ALONE):
            return "\n\n".join(written)
        items = "\n".join(f"- {each}" for each in written)
        return f"### {verbalize(self.language, section.heading)}\n{items}"

    def _table(self, section: Section) -> str:
        """Write a section as a table; each row is a sentence with its claims."""
        rows = [section.columns, ("---",) * len(section.columns)]
        for line in section.lines:
            marked = [self._mark_line(Line((piece,))) for piece in line.pieces]
            results = [text for text, _ in line.pieces]
            sides = zip(section.columns[1:], results[1:], strict=True)
            mark = verbalize(self.language, "v_clause")
            text = mark.join(f"{name} {value}" for name, value in sides)
            claims = dict.fromkeys(claim for _, cited in marked for claim in cited)
            colon = verbalize(self.language, "v_colon")
            self.sentences.append(Sentence(f"{results[0]}{colon}{text}", tuple(claims)))
            rows.append(tuple(text for text, _ in marked))
        if not section.lines:
            return ""
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _label_line(self, line: Line) -> Line:
        """Return the line with how it is known, where its words do not say so."""
        if not line.facts:
            return line
        *before, (_, facts) = line.pieces
        body = self.verbalizer.add_kind(line.text, [f.claim for f in line.facts])
        added = body.removeprefix("".join(text for text, _ in before))
        return replace(line, pieces=(*before, (added, facts)))

    def _mark_line(self, line: Line) -> tuple[str, tuple[str, ...]]:
        done, claims = "", list[str]()
        for text, facts in line.pieces:
            marks, cited = self.numbers.marks(facts)
            space = " " if marks and self.language == "en" else ""
            done += text + space + marks
            claims += cited
        return done, tuple(dict.fromkeys(claims))

    def write_warnings(self, warnings: Sequence[SafetyWarning], part: Contribution) -> str:
        """Write warnings as a quotation, the gravest first."""
        lines = []
        for warning in sort_gravest(warnings):
            facts = [part.facts[c] for c in warning.claims if c in part.facts]
            self.numbers.silent |= {f.claim: f for f in facts}
            known = any(warning.text == s.text for s in self.sentences)
            if known or warning.text in part.shown:
                continue
            self.sentences.append(Sentence(warning.text, warning.claims))
            space = " " if self.language == "en" else ""
            marks, _ = self.numbers.marks(facts)
            lines.append(f"> ⚠ {warning.text}{space if marks else ''}{marks}")
        return "\n>\n".join(lines)


def compose(part: Contribution, evidences: Evidences, language: str) -> ComposedAnswer:
    """Write opening, warnings, sections in a fixed order, then what the numbers mean."""
    remove_withdrawn(part, evidences, language)
    verbalizer = Verbalizer(language, evidences.facts, evidences)
    page = _Page(CitationNumbers(evidences, language), verbalizer)
    urgent = [w for w in part.warnings if w.severity == "emergency"]
    warnings = [w for w in part.warnings if w.severity != "emergency"]
    blocks = [page.write_warnings(urgent, part), page.block(part.opening)]
    if notice := page.write_warnings(warnings, part):
        blocks += [f"### {verbalize(language, 'h_warnings')}\n\n{notice}"]
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
    return ComposedAnswer(
        text,
        tuple(page.sentences),
        numbers.citations(),
        numbers.further(),
        "\n\n".join(care),
        tuple(cautious),
    )


def sort_gravest(warnings: Iterable[SafetyWarning]) -> tuple[SafetyWarning, ...]:
    """Place the gravest first."""
    return tuple(sorted(warnings, key=lambda w: WARNINGS.index(w.severity)))


def _tail(part: Contribution, page: _Page) -> list[str]:
    blocks, language = [], page.language
    missing = [each for each in part.missing if each not in part.shown]
    if len(missing) == 1:
        blocks.append(finish(capital(missing[0], language), page.verbalizer.stop))
    elif missing:
        heading = f"### {verbalize(language, 'h_missing')}\n"
        blocks.append(heading + "\n".join(f"- {capital(each, language)}" for each in missing))
    if any(warning.severity == "emergency" for warning in part.warnings):
        return blocks  # nothing may stand between the call and the reader
    closing = verbalize(language, "s_not_diagnosis")
    page.sentences.append(Sentence(closing))
    blocks.append(f"*{closing}*")
    return blocks


def join_pieces(language: str, pieces: Iterable[Piece]) -> list[Piece]:
    """Place pieces that say something one after another, the first being a label."""
    written = [piece for piece in pieces if piece[0]]
    mark = "；" if language == "zh" else "; "
    return [(text if i < 2 else mark + text, facts) for i, (text, facts) in enumerate(written)]


def list_unchecked(context: AnswerContext) -> list[str]:
    """List what of the profile could not be taken into account."""
    verbalizer, question = context.verbalizer, context.parsed
    words = map(sanitize_words, question.person.unknown[:5])
    results = [verbalizer.verbalize("m_profile", word=word) for word in words]
    if question.profile.pregnant and question.profile.sex == "male":
        results.append(verbalizer.verbalize("m_contradiction"))
    return results
