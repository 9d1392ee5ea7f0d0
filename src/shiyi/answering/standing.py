"""The facts and the adjacency of a base as it stands: those of its build, and what came since."""

from collections.abc import Collection, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path

from shiyi.answering.changed_facts import after, edges_of, touched
from shiyi.answering.fact_file import FILE, Held, open_facts, save_facts
from shiyi.answering.facts import Facts, derived_claims
from shiyi.errors import IndexMismatchError
from shiyi.model.names import ID
from shiyi.model.remaking import made_anew
from shiyi.ontology.vocabulary import Schema
from shiyi.reasoning.projection import FILE as ADJACENCY
from shiyi.reasoning.projection import Projection
from shiyi.reasoning.swap import derivation
from shiyi.settings import PageRankSettings
from shiyi.sparql.journal import Record, read_journal
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.scrub import note_again
from shiyi.sparql.store import QuadStore
from shiyi.sparql.writer import JOURNAL_FILE, applied_through

_FEW, _SHARE = 500, 8  # ours: claims read one by one, at most so many and that part of all


@dataclass(frozen=True, slots=True)
class Standing:
    """Facts and adjacency, and which claims changed since the build, where that is known."""

    facts: Facts
    projection: Projection
    changed: Collection[str] | None = None


def standing(
    base: KnowledgeBase, schema: Schema, shown: QuadStore, hidden: Collection[str] = ()
) -> Standing:
    """Give both as ``shown`` has them, which lacks the claims and passages ``hidden`` of the base.

    They are opened from the files of the build, and what changed since is read from the store;
    where there are none, or where much changed, all of it is read.
    """
    try:
        return _opened(base, schema, shown, hidden)
    except IndexMismatchError as why:
        with made_anew("the index of claims", why):
            facts = Facts.read(shown, schema)
            return Standing(facts, Projection.from_edges(edges_of(facts), base.release))


def _opened(
    base: KnowledgeBase, schema: Schema, shown: QuadStore, hidden: Collection[str]
) -> Standing:
    if base.is_remote:
        raise IndexMismatchError("others may write to a remote store, so it is read")
    held = open_facts(base.folder / "index", base.release, schema)
    projection = Projection.load(base.folder / "index", base.release, held.claims)
    claims, concepts = _since(base, held, hidden)
    changed = claims if held.texts else None
    if not (claims or concepts):
        return Standing(held.facts, projection, changed)
    return Standing(*after(held.facts, projection, shown, claims, concepts), changed)


def freshen(base: KnowledgeBase, schema: Schema) -> bool:
    """Write the files anew where they no longer open, or much changed since; tell whether."""
    try:
        _opened(base, schema, base.store, ())
    except IndexMismatchError:
        if base.is_remote:
            return False
        write_standing(base, schema, texts=False)
        note_again(base.folder, (FILE, ADJACENCY))
        return True
    return False


def write_standing(
    base: KnowledgeBase, schema: Schema, ranking: PageRankSettings | None = None, *,
    texts: bool = True,
) -> None:  # fmt: skip
    """Write the files that :func:`standing` opens.

    The importance is written for the settings ``ranking``, else for the default ones. ``texts``
    tells that the library is written of the same moment.
    """
    folder, store = base.folder / "index", base.store
    through, note = applied_through(store), derivation(store)
    facts = Facts.read(store, schema)
    claims = save_facts(facts, folder, base.release, through, note, texts=texts)
    projection = Projection.from_edges(edges_of(facts), base.release)
    projection.save(folder, ranking or PageRankSettings(), claims)


def _since(base: KnowledgeBase, held: Held, hidden: Collection[str]) -> tuple[list[str], list[str]]:
    """Name the claims and concepts to read anew; ``IndexMismatchError`` where they are too many."""
    claims = dict.fromkeys(each for each in hidden if each.startswith(f"{ID}claim/"))
    concepts = dict.fromkeys(each for each in hidden if each not in claims)
    if derivation(base.store) != held.derivation:
        claims |= dict.fromkeys((*held.derived, *derived_claims(base.store)))
    through = applied_through(base.store)
    if through < held.through:
        raise IndexMismatchError("an older store was put back")
    most = _FEW + len(held.facts.by_claim) // _SHARE
    _check_few(claims, concepts, most)
    for record in _records(base.path / JOURNAL_FILE, held.through, through):
        told = touched((*record.removed, *record.added))
        claims |= dict.fromkeys(told[0])
        concepts |= dict.fromkeys(told[1])
        _check_few(claims, concepts, most)
    return [*claims], [*concepts]


def _check_few(claims: Sized, concepts: Sized, most: int) -> None:
    if len(claims) + len(concepts) > most:
        raise IndexMismatchError("much changed since the build")


def _records(path: Path, after_: int, through: int) -> Iterator[Record]:
    if after_ < through:
        for record in read_journal(path, after_):
            if record.sequence > through:  # came after this reader's snapshot
                return
            yield record
