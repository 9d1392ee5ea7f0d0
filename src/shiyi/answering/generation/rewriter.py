"""A language model rewrites an answer, streamed, or writes the uncited baseline."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from pydantic import BaseModel, ValidationError

from shiyi.answering.generation.checker import fault_of
from shiyi.answering.generation.dangers import dangers
from shiyi.answering.generation.premises import premise_of
from shiyi.answering.knowledge.facts import PROFILE
from shiyi.answering.knowledge.names import Names
from shiyi.answering.methods.model_calls import ask_model
from shiyi.answering.runtime import Runtime
from shiyi.answering.wording.verbalization import verbalize
from shiyi.errors import OutsideError
from shiyi.linking.normalization import fold, has_cjk
from shiyi.model.answer import Answer, Citation, Sentence
from shiyi.model.path import Path
from shiyi.model.rdf import local_name
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.schema import Schema
from shiyi.prompts.chat import ChatModel, GrowingList, parse_form
from shiyi.prompts.templates import Prompt, sanitize_text

_MAX_CHARS, _MAX_SENTENCES = 400, 12
_CITED, _DESCRIBED = 40, 12  # claims shown to the model: cited ones, and of what things are like
_SHOWN = 300  # characters of a claim's notes
_ENGLISH_FROM: Final = 6  # words; shorter sentences may be names alone
_LATIN: Final = re.compile(r"[A-Za-z]")
_OTHER_SCRIPT: Final = re.compile(
    r"[\u0400-\u05ff\u0600-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]"
)
_MARKUP: Final = re.compile(r"https?:|www\.|[<>\[\]{}|`]|!\[|\*\*|^#")
_CUES: Final = Cues("sentence-check")
# answers with a harm as verdict are written by the composer alone
_COMPOSED_ONLY: Final = frozenset({"emergency", "do_not_combine", "ask_first"})


class Listener(Protocol):
    """Receives an answer while it is made."""

    def receive_draft(self, answer: Answer) -> None:
        """Receive the composed answer before a model is asked; its paths and warnings are final."""

    def receive(self, sentence: Sentence) -> None:
        """Receive a sentence that has passed the check, in the order of writing."""


class WrittenSentence(BaseModel):
    """A sentence of a model, and the numbers of the claims it cites."""

    text: str
    claims: list[int]


class WrittenAnswer(BaseModel):
    """The form of a reply to ``write-answer``."""

    sentences: list[WrittenSentence]


@dataclass(frozen=True, slots=True)
class Composition:
    """What the composer made of an answer besides its text.

    ``care`` is the text on caution and doctors; ``more`` the claims that the text rests on besides
    those it cites, numbered on; ``earlier`` the questions of the conversation before this one.
    """

    care: str = ""
    care_sentences: tuple[Sentence, ...] = ()
    more: tuple[Citation, ...] = ()
    earlier: tuple[str, ...] = ()


def write_with_model(
    answer: Answer,
    model: ChatModel,
    runtime: Runtime,
    composed: Composition = Composition(),
    listener: Listener | None = None,
) -> Answer:
    """Return ``answer`` with its text written by ``model``, or as composed with a notice.

    The conclusion, warnings, follow-ups, recommendations and ``composed.care`` stay the composer's;
    so does an answer that comes down to a harm, for which no model is asked. A sentence is used
    only if it cites claims of this answer and :class:`SentenceCheck` finds no fault. A ``listener``
    receives each accepted sentence; after a fault the composed answer replaces them.
    """
    writing = _Task.of(answer, runtime, composed)
    if answer.abstained or not writing.cited or answer.verdict.kind in _COMPOSED_ONLY:
        return answer
    prompt = Prompt.named("write-answer")
    first = tuple(s for s in answer.sentences if s.text == answer.verdict.text)[:1]
    relay = _SentenceRelay(writing, listener, first) if listener else None
    try:
        completion = model.complete(writing.fill_prompt(prompt), WrittenAnswer, relay)
        written = parse_form(completion.text, WrittenAnswer).sentences[:_MAX_SENTENCES]
    except OutsideError as fault:
        return replace(_keep(answer, prompt, f"model: {fault}"), model_fault=str(fault))
    judgements = [(each, *writing.judge(each)) for each in written]
    dropped = [f"dropped ({why}): {each.text[:80]}" for each, why, _ in judgements if why]
    sentences = tuple(sentence for _, _, sentence in judgements if sentence)
    if not sentences:
        return _keep(answer, prompt, "model: no sentence was supported by its claims", *dropped)
    claims = {claim for sentence in sentences for claim in sentence.claims}
    claims_cited = {each.claim for each in answer.citations}
    new_citations = tuple(c for c in writing.cited.values() if c.claim in claims - claims_cited)
    base = replace(
        _note_exchange(answer, prompt, *dropped), citations=(*answer.citations, *new_citations)
    )
    notice = verbalize(answer.language, "l_checked", n=str(len(sentences)), m=str(len(written)))
    return replace(
        base,
        model=model.name,
        sentences=(*first, *sentences, *composed.care_sentences),
        text=_text((*first, *sentences), base, composed.care, notice),
    )


def _keep(answer: Answer, prompt: Prompt, *notes: str) -> Answer:
    """Keep the composer's text and tell the reader that the model did not write it."""
    notice = verbalize(answer.language, "s_composed")
    return replace(_note_exchange(answer, prompt, *notes), text=f"{answer.text}\n\n*{notice}*")


def _note_exchange(answer: Answer, prompt: Prompt, *notes: str) -> Answer:
    trace = answer.trace
    prompts, notes = (*trace.prompts, prompt.version), (*trace.notes, *notes)
    return replace(answer, trace=replace(trace, prompts=prompts, notes=notes))


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """Decides whether an answer may use a sentence; see ``docs/explanation/grounding.md``."""

    language: str
    names: Names

    def fault(self, text: str, cited: Iterable[Citation]) -> str:
        """Return the fault of a sentence with the claims it cites; empty for none."""
        if not text or len(text) > _MAX_CHARS or "\n" in text:
            return "is empty, too long or of several lines"
        if _MARKUP.search(text):
            return "holds markup or an address"
        if not _is_in_language(text, self.language):
            return "is in another language"
        premises = [premise_of(citation, self.names.of) for citation in cited]
        fault = fault_of(text, premises)
        if not fault and any(premise.is_safety for premise in premises):
            return "is about a harm, which the composer writes"
        return fault


def _is_in_language(text: str, language: str) -> bool:
    """Return whether a text is in the answer's language, names in Latin letters allowed."""
    if _OTHER_SCRIPT.search(text):
        return False
    han, latin = sum(map(has_cjk, text)), len(_LATIN.findall(text))
    if language == "zh":
        return 2 * han >= latin and han > 0
    return han == 0 and (
        len(text.split()) < _ENGLISH_FROM or _CUES["english"].search(text) is not None
    )


@dataclass(frozen=True, slots=True)
class _Task:
    """What a model is asked to write: the claims that it may cite by number, and the prompt."""

    answer: Answer
    composed: Composition
    cited: Mapping[int, Citation]
    described: frozenset[int]  # of ``cited``, what things are like
    check: SentenceCheck

    @classmethod
    def of(cls, answer: Answer, runtime: Runtime, composed: Composition) -> "_Task":
        """Choose the claims: those cited, then what is recorded of the things named."""
        harms = {p.name for p in Schema.load().properties.values() if p.is_safety}
        citations = (*answer.citations, *composed.more)
        known = {each.claim for each in citations}
        things = (
            *(each.iri for each in answer.recommendations),
            *(each.iri for each in answer.linked if each.iri),
        )
        facts = (f for iri in dict.fromkeys(things) for f in runtime.facts.of(iri, *PROFILE))
        more = [f for f in facts if f.claim not in known][:_DESCRIBED]
        numbered = enumerate(more, max((each.number for each in citations), default=0) + 1)
        descriptions = [
            runtime.evidences.citation(n, fact, answer.language) for n, fact in numbered
        ]
        cited = {
            each.number: each
            for each in (*citations[:_CITED], *descriptions)
            if local_name(each.predicate.iri) not in harms
        }
        check = SentenceCheck(answer.language, runtime.names)
        return cls(answer, composed, cited, frozenset(each.number for each in descriptions), check)

    def judge(self, sentence: WrittenSentence) -> tuple[str, Sentence | None]:
        """Return why a sentence is dropped, or the sentence."""
        text = sentence.text.strip()
        citations = [self.cited[n] for n in sentence.claims if n in self.cited]
        if not citations or len(citations) < len(sentence.claims):
            return "cites no claim of this answer", None
        if reason := self.check.fault(text, citations):
            return reason, None
        return "", Sentence(text, tuple(citation.claim for citation in citations))

    def fill_prompt(self, prompt: Prompt) -> str:
        """Return the prompt with its four parts."""
        answer, asked = self.answer, self.answer.trace.asked
        profile = {key: value for key, value in asked.get("profile", {}).items() if value}
        listed = {n: _line(citation, answer.language) for n, citation in self.cited.items()}
        return prompt.fill(
            language="Chinese" if answer.language == "zh" else "English",
            question=sanitize_text(answer.question),
            earlier="\n".join(map(sanitize_text, self.composed.earlier)) or "-",
            frame=sanitize_text(_read_as(answer.trace.frame)) or "-",
            person=sanitize_text("; ".join(f"{k}: {v}" for k, v in profile.items())) or "-",
            verdict=sanitize_text(f"{answer.verdict.kind}: {answer.verdict.text}"),
            paths="\n".join(map(self._path_line, answer.paths)) or "-",
            claims="\n".join(t for n, t in listed.items() if n not in self.described) or "-",
            attributes="\n".join(t for n, t in listed.items() if n in self.described) or "-",
        )

    def _path_line(self, path: Path) -> str:
        numbers = {citation.claim: n for n, citation in self.cited.items()}
        named = {end.iri: end.label for c in self.cited.values() for end in (c.subject, c.object)}
        labels = [named.get(iri, local_name(iri)) for iri in path.entities]
        marks = "".join(f"[{numbers[h.claim]}]" for h in path.hops if h.claim in numbers)
        return f"{sanitize_text(' → '.join(labels))} {marks} ({path.score:.4f})"


def _read_as(frame: Mapping[str, Any]) -> str:
    """Write what is asked, and of whom, as the frame holds it."""
    if not frame:
        return ""
    person = frame["patient"]
    parts = [f"ask: {frame['ask'][0]['type']}", f"polarity: {frame['polarity']}"]
    parts += [f"who: {person['who']}"] + [f"age: {person['age']}"] * (person["age"] is not None)
    parts += [f"{item['label']}: {item['assertion']}" for item in person["states"]]
    parts += [f"{item['role']}: {item['label'] or item['text']}" for item in frame["focus"]]
    return "; ".join(parts)


def _line(cited: Citation, language: str) -> str:
    """Write a claim with its notes in one language alone, since the other says the same."""
    values = [pair for evidence in cited.evidence for pair in evidence.qualifiers]
    notes = [v for k, v in values if k in {f"note_{language}", "rating", "grade", "amount"}]
    denied = " NOT" if cited.polarity == "negative" else ""
    claim = f"{cited.subject.label} · {cited.predicate.label}{denied} · {cited.object.label}"
    note = sanitize_text("; ".join(dict.fromkeys(notes)), _SHOWN)
    return f"[{cited.number}] {sanitize_text(claim)} ({cited.confidence:.2f}) {note}".rstrip()


class _SentenceRelay:
    """Checks sentences while they come in; those that stand are reported on.

    The composer's ``first`` goes before the first of them.
    """

    def __init__(self, writing: _Task, listener: Listener, first: tuple[Sentence, ...]) -> None:
        self._writing, self._listener, self._first = writing, listener, first
        self._growing, self._left = GrowingList("sentences"), _MAX_SENTENCES

    def __call__(self, text: str) -> None:
        for record in self._growing.more(text)[: self._left]:
            self._left -= 1
            try:
                _, sentence = self._writing.judge(WrittenSentence.model_validate(record))
            except ValidationError:  # the whole reply is refused when it has come
                self._left = 0
                return
            if sentence is not None:
                for one in (*self._first, sentence):
                    self._listener.receive(one)
                self._first = ()


def add_marks(sentence: Sentence, answer: Answer) -> str:
    """Return a sentence with the numbers of its citations, as the text of the answer holds it."""
    number = {citation.claim: citation.number for citation in answer.citations}
    return sentence.text + "".join(f"[{number[c]}]" for c in sentence.claims if c in number)


def _text(sentences: Iterable[Sentence], answer: Answer, care: str, verified: str) -> str:
    number = {citation.claim: citation.number for citation in answer.citations}
    blocks = [
        ("" if answer.language == "zh" else " ").join(add_marks(s, answer) for s in sentences)
    ]
    if answer.warnings:
        head = verbalize(answer.language, "l_warnings")
        cautions = (
            f"> ⚠ {w.text}{''.join(f'[{number[c]}]' for c in w.claims if c in number)}"
            for w in answer.warnings
        )
        blocks.append(f"{head}\n\n" + "\n>\n".join(cautions))
    blocks += [care] if care else []
    if answer.follow_up:
        head = verbalize(answer.language, "l_ask")
        blocks.append(f"{head}\n" + "\n".join(f"- {each}" for each in answer.follow_up))
    return "\n\n".join((*blocks, verified))


_MOST, _LONGEST = 8, 300


def add_memory(answer: Answer, model: ChatModel) -> Answer:
    """Return the answer with sentences from a model's memory below the safety check's warnings.

    Sentences that promise safety, diagnose, change a medicine or state a number are left out;
    in an emergency nothing is asked of a model. The answer still cites nothing.
    """
    if any(warning.severity == "emergency" for warning in answer.warnings):
        return answer
    zh = answer.language == "zh"
    language = "Chinese" if zh else "English"
    reply, step = ask_model(
        model, "answer-from-memory", question=answer.question, language=language
    )
    trace = answer.trace
    steps, prompts = (*trace.steps, step), (*trace.prompts, step["prompt"])
    answer = replace(answer, trace=replace(trace, steps=steps, prompts=prompts))
    listed = (reply or {}).get("sentences")
    rows = listed[:_MOST] if isinstance(listed, list) else []
    texts = [row.strip() for row in rows if isinstance(row, str)]
    verified = [each for each in texts if _may_stand(each, zh=zh)]
    if not verified:
        return answer
    label = verbalize(answer.language, "l_memory")
    sentences = tuple(Sentence(label + text) for text in verified)
    text = "\n\n".join([*(sentence.text for sentence in sentences), answer.text])
    return replace(answer, model=model.name, text=text, sentences=(*sentences, *answer.sentences))


def _may_stand(text: str, *, zh: bool) -> bool:
    # folded as well, so that no script or width hides a word
    whole = 0 < len(text) <= _LONGEST and "\n" not in text and has_cjk(text) == zh
    hidden = f"{text} .\n{fold(text)}"
    return whole and not dangers(text) and not _CUES["never-from-memory"].search(hidden)
