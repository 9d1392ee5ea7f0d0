"""What a model says from memory, on request alone: labelled in every sentence, and never cited."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from shiyi.answering.heard import Linker
from shiyi.answering.methods.consulting import consulted
from shiyi.answering.sentence_check import unhidden
from shiyi.model.answer import Answer, Sentence
from shiyi.prompts.chat import ChatModel

_MOST, _LONGEST = 8, 300
_CJK: Final = re.compile(r"[\u3400-\u9fff]")
_NEVER: Final = re.compile(
    r"\d|安全|放心|无风险|没有风险|停药|停用|停服|减量|加量|换药|诊断|你得了|你患|治愈|根治"
    r"|\b(?:safe\w*|harmless|risk-free|diagnos\w*|you have|cure\w*|stop|quit|halve|skip)\b",
    re.IGNORECASE,
)
_LABEL: Final = {
    "zh": "【模型记忆，未经知识库核对】",
    "en": "[from the model's memory, not checked] ",
}


def from_memory(answer: Answer, model: ChatModel, linker: Linker) -> Answer:
    """Give the answer with sentences from a model's memory below the safety check's warnings.

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
    label = _LABEL[answer.language]
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
    return whole and bool(_CJK.search(text)) == zh and not _NEVER.search(unhidden(text))
