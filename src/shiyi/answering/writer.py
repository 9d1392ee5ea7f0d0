"""A language model rewrites an answer from its claims; every sentence is checked before it stands."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

from shiyi.errors import OutsideError, ReplyError
from shiyi.model.answer import Answer, Citation, Sentence
from shiyi.model.mention import Mention
from shiyi.ontology.vocabulary import Schema
from shiyi.prompts.chat import ChatModel, parse_object
from shiyi.prompts.prompt import Prompt

_MAX_SENTENCES, _MAX_CHARS = 12, 400
_CITED = 40  # claims shown to the model, in the order the composer cited them
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CJK = re.compile(r"[\u3400-\u9fff]")
_NEVER: Final = re.compile(
    r"安全|放心|无风险|没有风险|停药|停用|停服|减量|加量|换药|确诊|诊断为|你得了|你患有"
    r"|\b(?:safe|safely|risk-free|harmless|diagnos\w*|you have|cure[sd]?)\b"
    r"|\b(?:stop|start|reduce|increase|change|skip|halve|double)\b[^.]{0,30}"
    r"\b(?:medicine|medication|dose|drug|tablet|pill|warfarin|insulin|metformin)",
    re.IGNORECASE,
)
_CARE: Final = re.compile(
    r"忌|慎|不宜|避免|不要|禁|相互作用|风险|加重|先问|注意"
    r"|\b(?:avoid|caution\w*|not|contraindicat\w*|interact\w*|risk\w*|worsen\w*|careful\w*|before)\b",
    re.IGNORECASE,
)
_FREE_KINDS = frozenset({"Nature", "Flavour", "Meridian", "Efficacy", "OrganismPart", "Season"})


class Linker(Protocol):
    """Finds the concepts a sentence mentions."""

    def link(self, text: str, language: str | None = None) -> tuple[Mention, ...]:
        """Give mentions in order."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a sentence was dropped; an empty reason means that it stands."""

    text: str
    reason: str = ""


def write_with_model(answer: Answer, model: ChatModel, linker: Linker) -> Answer:
    """Give ``answer`` with its text written by ``model``, or unchanged with a notice in the trace.

    Warnings, follow-ups and recommendations stay the composer's. A sentence stands only if it
    cites claims of this answer, is in its language, names nothing its claims do not, states no
    number of its own, says the caution it cites, and promises nothing (:func:`check`).
    """
    if answer.abstained or not answer.citations:
        return answer
    prompt = Prompt.named("write-answer")
    try:
        reply = model.reply(_filled(prompt, answer))
        verdicts, kept = _checked(parse_object(reply), answer, linker)
    except OutsideError as fault:
        return _noted(answer, prompt, f"model: {fault}; composed from the claims instead")
    dropped = [f"dropped ({each.reason}): {each.text[:80]}" for each in verdicts if each.reason]
    if not kept:
        return _noted(answer, prompt, "model: no sentence was supported by its claims", *dropped)
    noted = _noted(answer, prompt, *dropped)
    return replace(noted, model=model.name, sentences=kept, text=_text(kept, answer))


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
    said = (
        f"[{cited.number}] {cited.subject.label} · {cited.predicate.label} · {cited.object.label}"
    )
    return f"{said} ({cited.confidence:.2f}) {'; '.join(dict.fromkeys(notes))}".rstrip()


def _checked(
    said: Mapping[str, object], answer: Answer, linker: Linker
) -> tuple[list[Verdict], tuple[Sentence, ...]]:
    sentences = said.get("sentences")
    if not isinstance(sentences, list):
        raise ReplyError("the model's reply has no list of sentences")
    cited = {each.number: each for each in answer.citations[:_CITED]}
    verdicts, kept = [], []
    for each in sentences[:_MAX_SENTENCES]:
        text, numbers = _parts(each)
        known = [cited[n] for n in numbers if n in cited]
        reason = "" if len(known) == len(numbers) > 0 else "cites no claim of this answer"
        verdicts.append(Verdict(text, reason or check(text, known, answer, linker)))
        if not verdicts[-1].reason:
            kept.append(Sentence(text, tuple(each.claim for each in known)))
    return verdicts, tuple(kept)


def _parts(each: object) -> tuple[str, list[int]]:
    if not isinstance(each, Mapping):
        raise ReplyError("a sentence of the model's reply is not an object")
    text, numbers = each.get("text"), each.get("claims")
    if not isinstance(text, str) or not isinstance(numbers, list):
        raise ReplyError("a sentence of the model's reply lacks its text or its claims")
    return text.strip(), [n for n in numbers if isinstance(n, int) and not isinstance(n, bool)]


def check(text: str, cited: Iterable[Citation], answer: Answer, linker: Linker) -> str:
    """Say why a sentence may not stand, or nothing where it may."""
    cited = tuple(cited)
    if not text or len(text) > _MAX_CHARS or "\n" in text:
        return "is empty, too long or of several lines"
    if bool(_CJK.search(text)) != (answer.language == "zh"):
        return "is in another language"
    if _NEVER.search(text):
        return "promises safety, diagnoses or changes a medicine"
    if any(c.predicate.iri.rpartition("#")[2] in _harms() for c in cited) and not _CARE.search(
        text
    ):
        return "cites a caution without saying it"
    if foreign := _foreign_numbers(text, cited):
        return f"states {foreign}, which no cited claim does"
    return _uncovered(text, cited, answer, linker)


def _harms() -> frozenset[str]:
    properties = Schema.load().properties.values()
    return frozenset(each.name for each in properties if each.is_safety)


def _foreign_numbers(text: str, cited: tuple[Citation, ...]) -> str:
    allowed = " ".join(
        (f"{c.confidence:.2f} {c.object.label} {c.subject.label} "
         + " ".join(value for e in c.evidence for _, value in e.qualifiers))
        for c in cited
    )  # fmt: skip
    known = set(_NUMBER.findall(allowed))
    return ", ".join(sorted(set(_NUMBER.findall(text)) - known))


def _uncovered(text: str, cited: tuple[Citation, ...], answer: Answer, linker: Linker) -> str:
    ends = {iri for c in cited for iri in (c.subject.iri, c.object.iri)}
    labels = [label for c in cited for label in (c.subject.label, c.object.label)]
    mentions = [m for m in linker.link(text, answer.language) if m.iri]
    named = {m.iri for m in mentions}
    if not named & ends and not any(label.lower() in text.lower() for label in labels):
        return "names nothing its claims speak of"
    asked = {m.iri for m in answer.linked if m.iri}
    for mention in mentions:
        inside = any(mention.text.lower() in label.lower() for label in labels)
        if mention.iri not in ends | asked and mention.kind not in _FREE_KINDS and not inside:
            return f"speaks of {mention.text}, which no cited claim does"
    return ""


def _text(kept: tuple[Sentence, ...], answer: Answer) -> str:
    number = {each.claim: each.number for each in answer.citations}
    zh = answer.language == "zh"
    lines = [f"{s.text}{''.join(f'[{number[claim]}]' for claim in s.claims)}" for s in kept]
    blocks = ["".join(lines) if zh else " ".join(lines)]
    if answer.warnings:
        head = "### 请先看" if zh else "### Please read first"
        cautions = (
            f"> ⚠ {w.text}{''.join(f'[{number[c]}]' for c in w.claims if c in number)}"
            for w in answer.warnings
        )
        blocks.append(f"{head}\n\n" + "\n>\n".join(cautions))
    if answer.follow_up:
        head = "### 还需要知道" if zh else "### It depends on"
        blocks.append(f"{head}\n" + "\n".join(f"- {each}" for each in answer.follow_up))
    blocks.append(
        "*文字由语言模型依据所引论断写成，逐句核对；以上是饮食参考，不是诊断或处方。*" if zh else
        "*Written by a language model from the cited claims and checked sentence by sentence. "
        "This is dietary information, not a diagnosis or a prescription.*"
    )  # fmt: skip
    return "\n\n".join(blocks)
