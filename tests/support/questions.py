"""Questions asked in one line, their request spelt out as keywords."""

from typing import Any

from shiyi.answering import conversation, pipeline
from shiyi.answering.conversation import Context, Turn
from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.pipeline import AskRequest
from shiyi.answering.runtime import Runtime
from shiyi.answering.understanding.frame import Frame
from shiyi.answering.understanding.patient import build_profile
from shiyi.answering.understanding.question import Question
from shiyi.answering.understanding.reading import parse_question
from shiyi.linking.normalization import QuestionText
from shiyi.model.answer import Answer
from shiyi.model.profile import Profile
from shiyi.prompts.chat import ChatModel


def read(runtime: Runtime, words: str, language: str = "", **profile: Any) -> Question:
    """Return a question as it is understood; ``profile`` are fields of :class:`Profile`."""
    text, settings = QuestionText.of(words, language), runtime.settings.understanding
    return parse_question(text, Profile(**profile), runtime.linker, runtime.facts, settings)


def frame_of(runtime: Runtime, words: str) -> Frame:
    """Return the frame of a question."""
    return read(runtime, words).frame


def profile_in(runtime: Runtime, words: str) -> Profile:
    """Return what somebody states of themselves."""
    return build_profile(frame_of(runtime, words), runtime.facts)


def ask(
    runtime: Runtime,
    question: str,
    model: ChatModel | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Answer:
    """Answer a question; ``options`` are fields of :class:`AskRequest`."""
    return pipeline.ask(runtime, AskRequest(question, **options), model, listener)


def converse(
    runtime: Runtime,
    question: str,
    context: Context = Context(),  # noqa: B008 - frozen
    model: ChatModel | None = None,
    listener: Listener | None = None,
    **options: Any,
) -> Turn:
    """Answer a question after others; ``options`` are fields of :class:`AskRequest`."""
    return conversation.converse(runtime, AskRequest(question, **options), context, model, listener)
