"""An answer told to a browser while it is made."""

import json
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

from shiyi.answering.conversation import Turn
from shiyi.answering.telling import Listener
from shiyi.model.answer import Answer, Sentence


def event(name: str, value: object) -> str:
    r"""Write one server-sent event.

    >>> event("token", "甘")
    'event: token\ndata: "甘"\n\n'
    """
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n"


class Heard:
    """Puts what is heard of an answer on a queue, for another thread to send."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[str | None] = SimpleQueue()
        self.told_draft = self.told_sentence = False

    def drafted(self, answer: Answer) -> None:
        """Tell the paths and the warnings, which stand whatever a model writes."""
        self.told_draft = True
        sent = answer.to_json()
        for name in ("path", "warning"):
            for each in sent[f"{name}s"]:
                self.queue.put(event(name, each))

    def written(self, sentence: Sentence) -> None:
        """Tell a sentence that has passed the check."""
        self.told_sentence = True
        self.queue.put(event("token", sentence.text))


def told(ask: Callable[[Listener], Turn]) -> Generator[str, None, Turn]:
    """Yield events of what is heard while ``ask`` works; give its turn, or raise what it raises.

    Sentences are those of a model as they pass the check; where none was written they are the
    composer's. A model that fails midway leaves sentences that the turn's answer no longer holds.
    """
    heard = Heard()
    worker = ThreadPoolExecutor(1)
    try:
        working = worker.submit(ask, heard)
        working.add_done_callback(lambda _: heard.queue.put(None))
        while (each := heard.queue.get()) is not None:
            yield each
        turn = working.result()
    finally:
        worker.shutdown(wait=False)  # who left does not wait; a model has its deadline
    if not heard.told_draft:
        heard.drafted(turn.answer)
    if not heard.told_sentence:
        for sentence in turn.answer.sentences:
            heard.written(sentence)
    heard.queue.put(None)
    while (each := heard.queue.get()) is not None:
        yield each
    return turn
