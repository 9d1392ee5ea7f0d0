"""What a curator changed is in the next answer: facts at once, inherited cautions right after."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Final

from shiyi.answering.changed_facts import touched
from shiyi.answering.living import Living
from shiyi.curation.changes import Changes
from shiyi.curation.ledger import Change
from shiyi.errors import ShiyiError
from shiyi.model.rdf import Quad, Triple
from shiyi.ontology.terms import SKOS
from shiyi.reasoning.rederive import Rederived, matters, rederived, ways_of

_WHO: Final = "shiyi"
_TRIES: Final = 4  # of an inference that others write beside
Follow = Callable[[Iterable[str], Iterable[str]], None]
_LOG = logging.getLogger(__name__)


class Refresher:
    """Hears of every change, and keeps the runtime and the derived graph in step with it."""

    def __init__(
        self,
        living: Living,
        changes: Changes,
        expire: Callable[[], None],
        follow: Follow = lambda claims, concepts: None,
    ) -> None:
        """Keep ``living`` in step; ``follow`` hears which claims and concepts to read anew."""
        self._living, self._changes, self._expire = living, changes, expire
        self._follow = follow
        self._turn, self._asked = threading.Lock(), threading.Event()
        changes.listeners.append(self)
        if changes.last:  # a server that was killed may have left the cautions behind
            self.rederive_soon()

    def __call__(self, made: Sequence[Change]) -> None:
        """Take some changes in; inherited cautions follow in a thread of their own."""
        self.hear([quad for change in made for quad in (*change.removed, *change.added)])

    def hear(self, quads: Iterable[Quad]) -> None:
        """Take in that some quads came or went."""
        quads = list(quads)
        claims, concepts = touched(quads)
        if claims or concepts:
            self._living.refresh(claims, concepts)
            self._follow(claims, concepts)
            self._expire()
        schema = self._living.current.facts.schema
        if any(_is_premise(quad, lambda name: matters(schema, name)) for quad in quads):
            self.rederive_soon()

    def rederive_soon(self) -> None:
        """Infer the inherited cautions anew, in the background; several wishes are one."""
        if not self._asked.is_set():
            self._asked.set()
            threading.Thread(target=self._rederive_logged, daemon=True).start()

    def rederive(self) -> int:
        """Infer the inherited cautions anew and write what differs; give how many claims did."""
        writer = self._changes.writer
        with self._turn:
            self._asked.clear()
            for attempt in range(_TRIES):
                # inferring takes its time, so others may write meanwhile, but for the last try
                with writer.turn() if attempt == _TRIES - 1 else nullcontext():
                    sequence, facts = writer.sequence, self._living.current.facts
                    ways = ways_of(self._living.edges(), facts.broader, facts.schema)
                    with writer.turn():
                        if writer.sequence == sequence:
                            return self._write(
                                rederived(writer.store, self._living.derived(), ways)
                            )
        return 0

    def _write(self, found: Rederived) -> int:
        if found.claims:
            writer = self._changes.writer
            writer.write(
                found.added, found.removed, key=f"rederive after {writer.sequence}", who=_WHO,
                why="inherited cautions after a change",
            )  # fmt: skip
            self._living.refresh(found.claims)
            self._follow(found.claims, ())
            self._expire()
        return len(found.claims)

    def _rederive_logged(self) -> None:
        try:
            self.rederive()
        except ShiyiError as fault:  # a closing server, a full disk: the next change tries again
            self._asked.clear()
            _LOG.warning("inherited cautions were not inferred anew: %s", fault)


def _is_premise(quad: Quad, counts: Callable[[str], bool]) -> bool:
    if quad.predicate == SKOS.broader:
        return True
    said = quad.object
    predicate = said.predicate if isinstance(said, Triple) else quad.predicate
    return counts(predicate.value)
