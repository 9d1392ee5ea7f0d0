"""A language model rewrites an answer, streamed, or writes the uncited baseline."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from shiyi.answering.generation.checker import Premise, unverified
from shiyi.answering.generation.premises import premise_of
from shiyi.answering.methods.model_calls import consulted
from shiyi.answering.wording.verbalization import verbalize
from shiyi.errors import OutsideError, ReplyError
from shiyi.linking.candidates import LEXICAL
from shiyi.linking.linker import Linker
from shiyi.linking.normalization import fold
from shiyi.model.answer import Answer, Citation, Named, Sentence
from shiyi.ontology.lexicon import Cues
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import SHIYI
from shiyi.prompts.chat import ChatModel, parse_object, reply_aloud
from shiyi.prompts.streaming import GrowingList
from shiyi.prompts.templates import Prompt

_MAX_CHARS: Final = 400
_ENGLISH_FROM: Final = 6  # words; shorter sentences may be names alone
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_LATIN: Final = re.compile(r"[A-Za-z]")
_OTHER_SCRIPT: Final = re.compile(
    r"[\u0400-\u05ff\u0600-\u06ff\u0900-\u0dff\u0e00-\u0e7f\u3040-\u30ff\uac00-\ud7af]"
)
_ENGLISH: Final = re.compile(
    r"\b(?:the|is|are|and|of|with|may|for|in|to|a|an|on|not|can|be|as|by|or|it|has|have|from|if)\b",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"https?:|www\.|[<>\[\]{}|`]|!\[|\*\*|^#")
_FREE_KINDS: Final = frozenset(
    {"Nature", "Flavour", "Meridian", "Efficacy", "OrganismPart", "Season"}
)
_BENEFITS: Final = frozenset({
    "suitableFood", "relieves", "indicatedFor", "isEffectiveFor", "realisedBy", "hasEfficacy",
    "primaryEffect", "dietaryBenefit", "relatedConstitution", "hasTreatmentPrinciple",
    "suitableSeason", "mechanismOfAction", "background", "ruleText",
})  # fmt: skip


def check(text: str, cited: Iterable[Citation], answer: Answer, linker: Linker) -> str:
    """Return why a sentence may not stand, or nothing where it may."""
    cited = tuple(cited)
    if not text or len(text) > _MAX_CHARS or "\n" in text:
        return "is empty, too long or of several lines"
    if _MARKUP.search(text):
        return "holds markup or an address"
    if not _is_spoken(text, answer.language):
        return "is in another language"
    if _CUES["never"].search(unhidden(text)):
        return "promises safety, diagnoses or changes a medicine"
    fault = _unstated(unhidden(text), cited) or _uncovered(text, cited, answer, linker)
    return fault or unverified(text, _premises(text, cited, linker))


def _premises(text: str, cited: tuple[Citation, ...], linker: Linker) -> list[Premise]:
    """Return the cited claims; the names of their ends are their labels and those in the text."""
    names: dict[str, set[str]] = {}
    for mention in linker.link(text):
        if mention.iri and mention.justification == LEXICAL:
            for iri in (mention.iri, *mention.alternatives):
                names.setdefault(iri, set()).add(mention.text)
    return [premise_of(each, lambda iri: names.get(iri, ())) for each in cited]


def unhidden(text: str) -> str:
    """Return a text followed by its folded form, so that no script or width hides a word.

    >>> "停药" in unhidden("可以停藥"), "safe" in unhidden("ｓａ\u200bｆｅ")
    (True, True)
    """
    return f"{text} .\n{fold(text)}"  # no pattern goes on past the full stop


def _is_spoken(text: str, language: str) -> bool:
    """Return whether a text is in the answer's language, names in Latin letters allowed."""
    if _OTHER_SCRIPT.search(text):
        return False
    han, latin = len(_CJK.findall(text)), len(_LATIN.findall(text))
    if language == "zh":
        return 2 * han >= latin and han > 0
    words = text.split()
    return han == 0 and (len(words) < _ENGLISH_FROM or _ENGLISH.search(text) is not None)


def _unstated(text: str, cited: tuple[Citation, ...]) -> str:
    """Return what kind of thing a sentence says that none of its claims does."""
    kinds = {c.predicate.iri.rpartition("#")[2] for c in cited}
    if kinds & _harms() and not _CUES["care"].search(text):
        return "cites a caution without saying it"
    if any(c.polarity == "negative" for c in cited) and not _CUES["denied"].search(text):
        return "affirms what its claim denies"
    if _CUES["good"].search(_CUES["unsuited"].sub("", text)) and not kinds & _BENEFITS:
        return "says a benefit that no cited claim does"
    if _CUES["meeting"].search(text) and not any("nteracts" in kind for kind in kinds):
        return "says an interaction that no cited claim does"
    if foreign := _foreign_numbers(text, cited):
        return f"states {foreign}, which no cited claim does"
    return ""


def _harms() -> frozenset[str]:
    properties = Schema.load().properties.values()
    return frozenset(each.name for each in properties if each.is_safety)


def _foreign_numbers(text: str, cited: tuple[Citation, ...]) -> str:
    allowed = " ".join(
        (
            f"{c.confidence:.2f} {_claimed_text(c.object)} {c.subject.label} "
            + " ".join(value for e in c.evidence for _, value in e.qualifiers)
        )
        for c in cited
    )
    known = set(_NUMBER.findall(unhidden(allowed)))
    written = {hit[0] for hit in _CUES["written-number"].finditer(text) if hit[0] not in allowed}
    return ", ".join(sorted((set(_NUMBER.findall(text)) - known) | written))


def _claimed_text(thing: Named) -> str:
    """Return the text that a claim states, else a concept's name: an IRI states no number."""
    return thing.iri if thing.iri.startswith(thing.label) else thing.label


def _uncovered(text: str, cited: tuple[Citation, ...], answer: Answer, linker: Linker) -> str:
    """Return what a sentence names that its claims do not.

    What was asked about may be named beside them, unless the sentence says a use or a harm of it.
    """
    if _CUES["good"].search(text):  # what an effect is for by its name is no use of what has it
        cited = tuple(c for c in cited if c.predicate.iri != SHIYI.directedAt.value)
    ends = {iri for c in cited for iri in (c.subject.iri, c.object.iri)}
    labels = [label for c in cited for label in (c.subject.label, c.object.label)]
    mentions = [m for m in linker.link(text, answer.language) if m.iri]
    named = {m.iri for m in mentions}
    if not named & ends and not any(label.lower() in text.lower() for label in labels):
        return "names nothing its claims speak of"
    said = unhidden(text)
    asserts = bool(
        _CUES["good"].search(said) or _CUES["meeting"].search(said) or _CUES["care"].search(said)
    )
    asked = set() if asserts else {m.iri for m in answer.linked if m.iri}
    told = " ".join(value for c in cited for e in c.evidence for _, value in e.qualifiers).lower()
    for mention in mentions:
        words = mention.text.lower()
        inside = any(words in label.lower() for label in labels) or words in told
        meant = {mention.iri, *mention.alternatives} & (ends | asked)
        if not meant and mention.kind not in _FREE_KINDS and not inside:
            return f"speaks of {mention.text}, which no cited claim does"
    return ""


_CUES: Final = Cues("sentence-check")


class Listener(Protocol):
    """Hears of an answer before it is whole."""

    def drafted(self, answer: Answer) -> None:
        """Hear the composed answer, whose paths and warnings stand, before a model is asked."""

    def written(self, sentence: Sentence) -> None:
        """Hear a sentence of a model that has passed the check, in the order of writing."""


_MAX_SENTENCES = 12
_CITED = 40  # claims shown to the model, in the order the composer cited them
_SHOWN = 300  # characters of a claim's notes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a sentence was dropped; an empty reason means that it stands."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Care:
    """What the composer says of caution and of doctors, which stands anyone who writes the rest."""

    text: str = ""
    sentences: tuple[Sentence, ...] = ()


def write_with_model(
    answer: Answer,
    model: ChatModel,
    linker: Linker,
    listener: Listener | None = None,
    care: Care = Care(),
) -> Answer:
    """Return ``answer`` with its text written by ``model``, or as composed with a notice.

    Warnings, follow-ups, recommendations and ``care`` stay the composer's. A sentence stands only
    if it cites claims of this answer, is in its language, says nothing its claims do not, states
    no number of its own, says the caution it cites, and promises nothing (:func:`check`).
    A ``listener`` hears each sentence that stands while the model still writes; where the reply
    then fails, the composed answer that is given replaces what was recognized.
    """
    if answer.abstained or not answer.citations:
        return answer
    prompt = Prompt.named("write-answer")
    try:
        asked = _filled(prompt, answer)
        if listener is None:
            reply = model.reply(asked)
        else:
            reply = reply_aloud(model, asked, _Heard(answer, linker, listener))
        verdicts, kept = _checked(parse_object(reply), answer, linker)
    except OutsideError as fault:
        return _composed(answer, prompt, f"model: {fault}; composed from the claims instead")
    dropped = [f"dropped ({each.reason}): {each.text[:80]}" for each in verdicts if each.reason]
    if not kept:
        reason = "model: no sentence was supported by its claims"
        return _composed(answer, prompt, reason, *dropped)
    noted = _noted(answer, prompt, *dropped)
    return replace(
        noted,
        model=model.name,
        sentences=(*kept, *care.sentences),
        text=_text(kept, answer, care.text),
    )


class _Heard:
    """Checks sentences while they come in; those that stand are reported on."""

    def __init__(self, answer: Answer, linker: Linker, listener: Listener) -> None:
        self.answer, self.linker, self.listener = answer, linker, listener
        self._growing, self._left = GrowingList("sentences"), _MAX_SENTENCES

    def __call__(self, text: str) -> None:
        for each in self._growing.more(text)[: self._left]:
            self._left -= 1
            try:
                _, sentence = _judged(each, self.answer, self.linker)
            except ReplyError:  # the whole reply is refused when it has come
                self._left = 0
                return
            if sentence is not None:
                self.listener.written(sentence)


def _composed(answer: Answer, prompt: Prompt, *notes: str) -> Answer:
    """Keep the composer's text and tell the reader that the model did not write it."""
    told = verbalize(answer.language, "s_composed")
    noted = _noted(answer, prompt, *notes)
    return replace(noted, text=f"{answer.text}\n\n*{told}*")


def _noted(answer: Answer, prompt: Prompt, *notes: str) -> Answer:
    trace = answer.trace
    return replace(
        answer,
        trace=replace(
            trace, prompts=(*trace.prompts, prompt.version), notes=(*trace.notes, *notes)
        ),
    )


def _filled(prompt: Prompt, answer: Answer) -> str:
    lines = (_line(each) for each in answer.citations[:_CITED])
    return prompt.fill(
        language="Chinese" if answer.language == "zh" else "English",
        question=answer.question.replace("<", "‹").replace(">", "›"),
        claims="\n".join(lines),
    )


def _line(cited: Citation) -> str:
    notes = [
        value
        for each in cited.evidence
        for name, value in each.qualifiers
        if name.startswith("note") or name in {"rating", "grade"}
    ]
    denied = " NOT" if cited.polarity == "negative" else ""
    said = f"{cited.subject.label} · {cited.predicate.label}{denied} · {cited.object.label}"
    told = "; ".join(dict.fromkeys(notes))[:_SHOWN]
    return f"[{cited.number}] {_data(said)} ({cited.confidence:.2f}) {_data(told)}".rstrip()


def _data(text: str) -> str:
    """Return words of others on one line and without brackets that could end their place."""
    return " ".join(text.replace("<", "‹").replace(">", "›").split())


def _checked(
    said: Mapping[str, object], answer: Answer, linker: Linker
) -> tuple[list[Verdict], tuple[Sentence, ...]]:
    sentences = said.get("sentences")
    if not isinstance(sentences, list):
        raise ReplyError("the model's reply has no list of sentences")
    judged = [_judged(each, answer, linker) for each in sentences[:_MAX_SENTENCES]]
    return [verdict for verdict, _ in judged], tuple(each for _, each in judged if each)


def _judged(each: object, answer: Answer, linker: Linker) -> tuple[Verdict, Sentence | None]:
    cited = {c.number: c for c in answer.citations[:_CITED]}
    text, numbers = _parts(each)
    known = [cited[n] for n in numbers if n in cited]
    reason = "" if len(known) == len(numbers) > 0 else "cites no claim of this answer"
    reason = reason or check(text, known, answer, linker)
    return Verdict(text, reason), None if reason else Sentence(text, tuple(c.claim for c in known))


def _parts(each: object) -> tuple[str, list[int]]:
    if not isinstance(each, Mapping):
        raise ReplyError("a sentence of the model's reply is not an object")
    text, numbers = each.get("text"), each.get("claims")
    if not isinstance(text, str) or not isinstance(numbers, list):
        raise ReplyError("a sentence of the model's reply lacks its text or its claims")
    return text.strip(), [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]


def marked(sentence: Sentence, answer: Answer) -> str:
    """Return a sentence with the numbers of its citations, as the text of the answer holds it."""
    number = {each.claim: each.number for each in answer.citations}
    return sentence.text + "".join(f"[{number[claim]}]" for claim in sentence.claims)


def _text(kept: tuple[Sentence, ...], answer: Answer, care: str) -> str:
    number = {each.claim: each.number for each in answer.citations}
    zh = answer.language == "zh"
    lines = [marked(each, answer) for each in kept]
    blocks = ["".join(lines) if zh else " ".join(lines)]
    if answer.warnings:
        head = verbalize(answer.language, "l_warnings")
        cautions = (
            f"> ⚠ {w.text}{''.join(f'[{number[c]}]' for c in w.claims if c in number)}"
            for w in answer.warnings
        )
        urgent = any(w.severity == "emergency" for w in answer.warnings)
        blocks.insert(0 if urgent else 1, f"{head}\n\n" + "\n>\n".join(cautions))
    blocks += [care] if care else []
    if answer.follow_up:
        head = verbalize(answer.language, "l_ask")
        blocks.append(f"{head}\n" + "\n".join(f"- {each}" for each in answer.follow_up))
    blocks.append(verbalize(answer.language, "l_checked"))
    return "\n\n".join(blocks)


_MOST, _LONGEST = 8, 300
_CJK: Final = re.compile(r"[\u3400-\u9fff]")


def from_memory(answer: Answer, model: ChatModel, linker: Linker) -> Answer:
    """Return the answer with sentences from a model's memory below the safety check's warnings.

    Sentences that promise safety, diagnose, change a medicine or state a number are left out;
    in an emergency nothing is asked of a model. The answer still cites nothing.
    """
    if any(warning.severity == "emergency" for warning in answer.warnings):
        return answer
    zh = answer.language == "zh"
    said, step = consulted(
        model,
        "answer-from-memory",
        question=answer.question,
        language="Chinese" if zh else "English",
    )
    trace = replace(
        answer.trace,
        steps=(*answer.trace.steps, step),
        prompts=(*answer.trace.prompts, step["prompt"]),
    )
    answer = replace(answer, trace=trace)
    kept = tuple(text for text in _sentences(said) if _may_stand(text, zh=zh))
    if not kept:
        return answer
    label = verbalize(answer.language, "l_memory")
    sentences = tuple(Sentence(label + text) for text in kept)
    text = "\n\n".join([*(each.text for each in sentences), answer.text])
    return replace(answer, model=model.name, text=text, sentences=(*sentences, *answer.sentences))


def _sentences(said: Mapping[str, Any] | None) -> list[str]:
    rows = (said or {}).get("sentences")
    return (
        [row.strip() for row in rows[:_MOST] if isinstance(row, str)]
        if isinstance(rows, list)
        else []
    )


def _may_stand(text: str, *, zh: bool) -> bool:
    whole = bool(text) and len(text) <= _LONGEST and "\n" not in text
    return (
        whole
        and bool(_CJK.search(text)) == zh
        and not _CUES["never-from-memory"].search(unhidden(text))
    )
