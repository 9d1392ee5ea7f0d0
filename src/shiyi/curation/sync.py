"""``shiyi sync``: what the desks changed goes to the tables, what the tables changed to the base."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from shutil import copytree

from shiyi.curation.changes import Changes, Edit
from shiyi.curation.ledger import Change
from shiyi.curation.sync_claims import sync_claims
from shiyi.curation.sync_concepts import sync_concepts, sync_mappings
from shiyi.curation.sync_state import ONTO, TABLED, Touched
from shiyi.curation.sync_tables import Tables
from shiyi.curation.vocabulary_proposals import PROPOSALS, read_proposal
from shiyi.errors import TableError, UsageError
from shiyi.ingest.claims import Reader, Stated
from shiyi.ingest.concepts import KINDS
from shiyi.ingest.starter import Starter, load_starter
from shiyi.ingest.tables import Faults
from shiyi.model.names import content_hash
from shiyi.model.rdf import BlankNode, NamedNode, Quad, Triple, text
from shiyi.ontology.terms import SHIYI
from shiyi.ontology.vocabulary import Schema
from shiyi.settings import ConfidenceSettings
from shiyi.sparql.knowledge_base import KnowledgeBase
from shiyi.sparql.store import QuadStore

_ABOUT = 100  # things that one change names; a sync may touch more


@dataclass(slots=True)
class Outgoing:
    """What the tables need to hold what the base holds; ``kept`` claims stay in the base alone."""

    tables: Tables
    claims: int = 0
    concepts: int = 0
    mappings: int = 0
    terms: int = 0
    kept: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Tell whether the tables hold it already."""
        return next(self.tables.changed(), None) is None

    def counts(self) -> dict[str, int]:
        """Count what changes."""
        return {
            "claims": self.claims, "concepts": self.concepts, "mappings": self.mappings,
            "terms": self.terms, "kept": len(self.kept),
            "files": sum(1 for _ in self.tables.changed()),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Incoming:
    """What the base needs to hold what the tables hold; what the desks changed stays."""

    added: tuple[Quad, ...]
    removed: tuple[Quad, ...]

    @property
    def is_empty(self) -> bool:
        """Tell whether the base holds it already."""
        return not (self.added or self.removed)


def outgoing(
    base: KnowledgeBase, folder: Path, weights: ConfidenceSettings | None = None
) -> Outgoing:
    """Write the desks' changes into the tables of ``folder``, in memory.

    The result is built once from a copy before it is given: :class:`TableError` where it would
    not build, as when both sides renamed one thing.
    """
    weights = weights or ConfidenceSettings()
    touched, store = Touched.read(base.path), base.store
    starter = load_starter(folder, weights)
    stated = list(cells_of(folder, starter, weights))
    found = Outgoing(Tables(folder))
    claims = sync_claims(found.tables, stated, store, touched.claims(), weights)
    found.claims, found.kept = claims.written + claims.removed, claims.kept
    kinds = tuple(dict.fromkeys(KINDS.values()))
    concepts = [iri for kind in kinds for iri in touched.named(f"{kind}-")]
    found.concepts = sync_concepts(
        found.tables, starter.concepts.by_id, starter.broader, stated, store, concepts
    )
    found.mappings = sync_mappings(found.tables, store, touched.named("mapping/"))
    found.terms = _terms(found.tables, store, folder)
    if not found.is_empty:
        _check(found, folder, weights)
    return found


def cells_of(folder: Path, starter: Starter, weights: ConfidenceSettings) -> Iterator[Stated]:
    """Yield what each cell of the claim tables states."""
    reader = Reader(Schema.load(), starter.concepts, starter.sources, weights, Faults())
    return reader.stated(folder / "claims")


def _terms(tables: Tables, store: QuadStore, folder: Path) -> int:
    """Add approved relations to the vocabulary and the names in code, approved shapes to theirs."""
    done = 0
    nodes = sorted(
        (q.subject for q in store.match(None, SHIYI.status, SHIYI.accepted, PROPOSALS)), key=str
    )
    for node in nodes:
        found = read_proposal(store, node.value) if isinstance(node, NamedNode) else None
        if found is None:
            continue
        path = folder / "shiyi.ttl" if found.kind == "relation" else _shapes(folder)
        if not path.is_file():
            continue
        name = f"{path.parent.name}/{path.name}"
        before, after = tables.extra.get(name, (path.read_text("utf-8"),) * 2)
        if found.turtle.strip() in after:
            continue
        tables.extra[name] = (before, f"{after.rstrip()}\n\n{found.turtle}")
        done += 1
        code = folder.parent / "src/shiyi/ontology/terms.py"
        if found.kind == "relation" and code.is_file():
            key = "src/shiyi/ontology/terms.py"
            old, new = tables.extra.get(key, (code.read_text("utf-8"),) * 2)
            mark = "\n\n\nclass RDF("
            tables.extra[key] = (old, new.replace(mark, f"\n    {found.name}: NamedNode{mark}", 1))
    return done


def _shapes(folder: Path) -> Path:
    return folder.parent / "shapes" / "concept.ttl"


def _check(found: Outgoing, folder: Path, weights: ConfidenceSettings) -> None:
    """Build from a copy what the tables would be; the faults are the answer where it does not."""
    with tempfile.TemporaryDirectory(prefix="shiyi-sync-") as place:
        copy = Path(place) / folder.name
        copytree(folder, copy)
        found.tables.write(Path(place))
        try:
            load_starter(copy, weights)
        except TableError as fault:
            raise TableError([
                "the tables would not build with the desks' changes; mend either side:",
                *fault.faults,
            ]) from fault  # fmt: skip


def incoming(
    base: KnowledgeBase, folder: Path, weights: ConfidenceSettings | None = None
) -> Incoming:
    """Compare the tables with the base: what only they changed since the last build.

    What the desks changed stays as they left it, until it is in the tables. The vocabulary itself
    (lists of classes) needs ``shiyi build``.
    """
    touched = Touched.read(base.path)
    wanted = {q for q in load_starter(folder, weights).quads() if _plain(q)}
    held = {q for place in TABLED for q in base.store.match(graph=place) if _plain(q)}
    added = [q for q in wanted - held if q not in touched.removed]
    removed = [q for q in held - wanted if q not in touched.added]
    theirs = touched.claims()
    theirs |= {
        text(q.object) for q in (*wanted, *held)
        if q.predicate == SHIYI.evidence and text(q.subject) in theirs
    }  # fmt: skip
    return Incoming(
        tuple(sorted((q for q in added if not _contested(q, theirs)), key=str)),
        tuple(sorted((q for q in removed if not _contested(q, theirs)), key=str)),
    )


def take_in(changes: Changes, found: Incoming, who: str) -> Change:
    """Write what the tables changed, as one change that can be undone."""
    if found.is_empty:
        raise UsageError("the base holds what the tables hold already")
    names = dict.fromkeys(
        quad.subject.value for quad in (*found.added, *found.removed)
        if isinstance(quad.subject, NamedNode)
    )  # fmt: skip
    key = f"sync {content_hash(*map(str, found.added), '-', *map(str, found.removed))}"
    edit = Edit(ONTO, tuple(islice(names, _ABOUT)), "the tables changed", found.removed,
                found.added, key=f"{key} {changes.last}")  # fmt: skip
    return changes.make(edit, who)


def _plain(quad: Quad) -> bool:
    """Tell whether a quad can be compared: blank nodes have other names in each build."""
    terms = (quad.subject, quad.object)
    return not any(isinstance(each, BlankNode) for each in terms)


def _contested(quad: Quad, theirs: set[str]) -> bool:
    """Tell whether a quad is of a claim that the desks changed: theirs until it is exported."""
    said = "" if isinstance(quad.object, Triple) else text(quad.object)
    return text(quad.subject) in theirs or said in theirs
