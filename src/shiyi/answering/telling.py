"""An answer told while it is made: first what stands in any case, then each sentence as it is checked."""

from typing import Protocol

from shiyi.model.answer import Answer, Sentence


class Listener(Protocol):
    """Hears of an answer before it is whole."""

    def drafted(self, answer: Answer) -> None:
        """Hear the composed answer, whose paths and warnings stand, before a model is asked."""

    def written(self, sentence: Sentence) -> None:
        """Hear a sentence of a model that has passed the check, in the order of writing."""
