"""A language model rewrites an answer from its claims; every sentence is checked before it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from shiyi.answering.phrases import say
from shiyi.answering.sentence_check import Linker, check
from shiyi.answering.telling import Listener
from shiyi.errors import OutsideError, ReplyError
from shiyi.model.answer import Answer, Citation, Sentence
from shiyi.prompts.chat import ChatModel, parse_object, reply_aloud
from shiyi.prompts.prompt import Prompt
from shiyi.prompts.unfolding import GrowingList

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
    """What the composer says of caution and of doctors, which stands whoever writes the rest."""

    text: str = ""
    sentences: tuple[Sentence, ...] = ()


def write_with_model(
    answer: Answer,
    model: ChatModel,
    linker: Linker,
    listener: Listener | None = None,
    care: Care = Care(),
) -> Answer:
    """Give ``answer`` with its text written by ``model``, or as composed with a notice.

    Warnings, follow-ups, recommendations and ``care`` stay the composer's. A sentence stands only if it
    cites claims of this answer, is in its language, says nothing its claims do not, states no
    number of its own, says the caution it cites, and promises nothing (:func:`check`).
    A ``listener`` hears each sentence that stands while the model still writes; where the reply
    then fails, the composed answer that is given replaces what was heard.
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
        noted, model=model.name, sentences=(*kept, *care.sentences),
        text=_text(kept, answer, care.text),
    )  # fmt: skip


class _Heard:
    """Checks sentences while they come in; those that stand are told on."""

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
    told = say(answer.language, "s_composed")
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
    """Give words of others on one line and without brackets that could end their place."""
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
    """Give a sentence with the numbers of its citations, as the text of the answer holds it."""
    number = {each.claim: each.number for each in answer.citations}
    return sentence.text + "".join(f"[{number[claim]}]" for claim in sentence.claims)


def _text(kept: tuple[Sentence, ...], answer: Answer, care: str) -> str:
    number = {each.claim: each.number for each in answer.citations}
    zh = answer.language == "zh"
    lines = [marked(each, answer) for each in kept]
    blocks = ["".join(lines) if zh else " ".join(lines)]
    if answer.warnings:
        head = "### 请先看" if zh else "### Please read first"
        cautions = (
            f"> ⚠ {w.text}{''.join(f'[{number[c]}]' for c in w.claims if c in number)}"
            for w in answer.warnings
        )
        urgent = any(w.severity == "emergency" for w in answer.warnings)
        blocks.insert(0 if urgent else 1, f"{head}\n\n" + "\n>\n".join(cautions))
    blocks += [care] if care else []
    if answer.follow_up:
        head = "### 还需要知道" if zh else "### It depends on"
        blocks.append(f"{head}\n" + "\n".join(f"- {each}" for each in answer.follow_up))
    blocks.append(
        "*文字由语言模型依据所引论断写成，逐句核对；以上是饮食参考，不是诊断或处方。*" if zh else
        "*Written by a language model from the cited claims and checked sentence by sentence. "
        "This is dietary information, not a diagnosis or a prescription.*"
    )  # fmt: skip
    return "\n\n".join(blocks)
