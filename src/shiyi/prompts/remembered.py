"""A model whose recent replies are kept in memory, so that the same prompt is asked once."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from shiyi.model.names import content_hash
from shiyi.prompts.chat import ChatModel, Heard, reply_aloud


@dataclass(slots=True)
class Remembered:
    """Keeps ``most`` replies by the hash of their prompt, for this process alone; faults are not kept.

    >>> class Echo:
    ...     name = "echo"
    ...
    ...     def reply(self, prompt: str) -> str:
    ...         print("asked")
    ...         return prompt
    >>> model = Remembered(Echo())
    >>> model.reply("a"), model.reply("a")
    asked
    ('a', 'a')
    """

    model: ChatModel
    most: int = 512
    _kept: OrderedDict[str, str] = field(default_factory=OrderedDict, repr=False)
    _turn: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def name(self) -> str:
        """Name the model."""
        return self.model.name

    def reply(self, prompt: str) -> str:
        """Give the reply that was kept, or ask; raises what the model raises."""
        known = self._known(prompt)
        return self._keep(prompt, self.model.reply(prompt)) if known is None else known

    def reply_aloud(self, prompt: str, heard: Heard) -> str:
        """Give the same, and tell ``heard`` of it as it grows; of a kept reply at once."""
        known = self._known(prompt)
        if known is None:
            return self._keep(prompt, reply_aloud(self.model, prompt, heard))
        heard(known)
        return known

    def _known(self, prompt: str) -> str | None:
        key = content_hash(self.name, prompt)
        with self._turn:
            if (known := self._kept.get(key)) is not None:
                self._kept.move_to_end(key)
            return known

    def _keep(self, prompt: str, said: str) -> str:
        key = content_hash(self.name, prompt)
        with self._turn:
            self._kept[key] = said
            if len(self._kept) > self.most:
                self._kept.popitem(last=False)
        return said
