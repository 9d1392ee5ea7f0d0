"""Any endpoint that speaks the OpenAI chat protocol."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from shiyi.errors import OutsideError
from shiyi.settings import ModelSettings

if TYPE_CHECKING:
    from openai import OpenAI


@dataclass(frozen=True, slots=True)
class OpenAIChatModel:
    """A model by name at ``base_url``; the key is never shown, logged or put in an error."""

    name: str
    base_url: str | None
    key: str = field(repr=False)
    settings: ModelSettings = field(default_factory=ModelSettings)

    def reply(self, prompt: str) -> str:
        """Give the model's text within ``settings.timeout`` seconds, dripping endpoints included.

        Raises :class:`OutsideError` for any fault of the endpoint, a cut reply or a refusal.
        """
        outcome: list[str | OutsideError] = []
        client = self._client()
        # a byte every half second defeats socket timeouts, so the whole call has a deadline
        caller = threading.Thread(
            target=lambda: outcome.append(self._ask(client, prompt)), daemon=True
        )
        caller.start()
        caller.join(self.settings.timeout)
        client.close()
        if not outcome:
            raise OutsideError(f"{self.name} gave no answer in {self.settings.timeout:g} s")
        [said] = outcome
        if isinstance(said, OutsideError):
            raise said
        return said

    def _client(self) -> "OpenAI":
        from openai import OpenAI

        return OpenAI(
            api_key=self.key or "none", base_url=self.base_url, timeout=self.settings.timeout,
            max_retries=self.settings.retries,
        )  # fmt: skip

    def _ask(self, client: "OpenAI", prompt: str) -> str | OutsideError:
        from openai import OpenAIError

        try:
            made = client.chat.completions.create(
                model=self.name, messages=[{"role": "user", "content": prompt}], temperature=0,
                max_tokens=self.settings.max_tokens, response_format={"type": "json_object"},
            )  # fmt: skip
        except (OpenAIError, ValueError, RuntimeError) as fault:
            # the message may echo the key: only its kind is passed on
            return OutsideError(f"{self.name} failed: {type(fault).__name__}")
        choices = made.choices or []
        if not choices or not choices[0].message.content:
            return OutsideError(f"{self.name} gave an empty answer or refused")
        if choices[0].finish_reason == "length":
            return OutsideError(f"{self.name} was cut off at {self.settings.max_tokens} tokens")
        return choices[0].message.content


def model_from(settings: ModelSettings, env: Mapping[str, str]) -> OpenAIChatModel | None:
    """Give the configured model, or None where ``models.answer`` names none."""
    if not settings.answer:
        return None
    base_url, key = env.get("OPENAI_BASE_URL"), env.get("OPENAI_API_KEY", "")
    return OpenAIChatModel(settings.answer, base_url, key, settings)
