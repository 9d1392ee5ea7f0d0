"""A language model chooses."""

import os
import re
from dataclasses import dataclass
from typing import Final

from shiyi.answering.methods.method import render
from shiyi.answering.methods.model_calls import ask_model
from shiyi.errors import OutsideError, UsageError
from shiyi.evaluation.items import Choice, Prediction
from shiyi.evaluation.scorers.retrieval import MethodReader
from shiyi.linking.normalization import language_of
from shiyi.prompts.chat import ChatModel
from shiyi.prompts.resilience import open_breaker
from shiyi.settings import Settings

CLAIMS: Final = 30  # that a prompt holds; Yaoshi-RAG
TRUE_FALSE: Final = (("A", "对 / true"), ("B", "错 / false"))


def check_model(settings: Settings) -> ChatModel:
    """Return the configured model, once it has replied.

    Raises ``UsageError`` where none is configured and ``OutsideError`` where it does not reply.
    """
    model = open_breaker(settings.models, os.environ)
    if model is None:
        raise UsageError(
            "no model is configured: name one in models.answer of shiyi.toml and set "
            "OPENAI_BASE_URL"
        )
    try:
        model.complete("Reply with the one word: ready")
    except OutsideError as fault:
        where = settings.models.answer_url or os.environ.get("OPENAI_BASE_URL", "the usual address")
        raise OutsideError(
            f"nothing was measured, since the model {model.name} at {where} did not reply "
            f"({fault}); start it, set OPENAI_BASE_URL and OPENAI_API_KEY, "
            "or leave --with-model out"
        ) from fault
    return model


@dataclass(frozen=True, slots=True)
class ModelReader:
    """Chooses by a model that reads what a method retrieved."""

    reader_for: MethodReader
    model: ChatModel

    def read(self, item: Choice) -> Prediction:
        """Return what the model chose; an empty or unusable reply is an abstention."""
        options = item.options or TRUE_FALSE
        listed = "\n".join(f"{letter} {text}" for letter, text in options)
        claims_found = self.reader_for.claims(
            " ".join([item.stem, *(text for _, text in item.options)])
        )
        facts, language = self.reader_for.runtime.facts, language_of(item.stem)
        claims = "\n".join(render(facts, fact.fact, language) for fact in claims_found[:CLAIMS])
        reply, _ = ask_model(
            self.model, "choose-option", question=item.stem, options=listed, claims=claims
        )
        known = {letter for letter, _ in options}
        letters = re.findall("[A-J]", str((reply or {}).get("answer") or "").upper())
        chosen = frozenset(letters)
        if not chosen or not chosen <= known:
            return Prediction(abstained=True)
        if not item.options:
            name = "true" if chosen == {"A"} else "false"
            return Prediction((name,), frozenset({name}))
        return Prediction(tuple(dict.fromkeys(letters)), chosen)
