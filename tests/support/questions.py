"""Questions asked in one line, their request spelt out as keywords."""

from typing import Any

from shiyi.answering import conversation, pipeline
from shiyi.answering.conversation import Context, Turn
from shiyi.answering.generation.rewriter import Listener
from shiyi.answering.pipeline import AskRequest
from shiyi.answering.runtime import Runtime
from shiyi.model.answer import Answer
from shiyi.prompts.chat import ChatModel


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
