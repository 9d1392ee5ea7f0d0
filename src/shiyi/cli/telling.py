"""An answer printed while a model writes it."""

from shiyi.model.answer import Answer, Sentence


class Printing:
    """Prints each sentence that passed the check, and at the end what is left of the answer.

    In an emergency nothing is printed before the whole answer, which begins with the warning.
    """

    def __init__(self) -> None:
        self._draft: Answer | None = None
        self._printed = ""

    def drafted(self, answer: Answer) -> None:
        """Wait for sentences of a model."""
        urgent = any(warning.severity == "emergency" for warning in answer.warnings)
        self._draft = None if urgent else answer

    def written(self, sentence: Sentence) -> None:
        """Print a sentence with its marks."""
        from shiyi.answering.writer import marked

        if self._draft is None:
            return
        gap = " " if self._printed and self._draft.language != "zh" else ""
        piece = gap + marked(sentence, self._draft)
        self._printed += piece
        print(piece, end="", flush=True)

    def finish(self, answer: Answer) -> None:
        """Print the rest; where the model failed midway, the composed answer that replaces it."""
        if answer.text.startswith(self._printed):
            print(answer.text.removeprefix(self._printed))
        else:
            print(f"\n\n{answer.text}")
