"""Concepts as a form holds them: read from the base, checked, written back as one change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from shiyi.curation.changes import Edit
from shiyi.curation.editing_claims import one
from shiyi.curation.editing_faults import Fault, fault
from shiyi.errors import UsageError
from shiyi.ingest.concepts import ID_FORM, KINDS, TCM_ONLY, TabledConcept, concept_quads
from shiyi.ingest.retired import RETIRED
from shiyi.ingest.starter import pinyin_of
from shiyi.model.names import ID, VOCAB, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

DEFAULT = DefaultGraph()
LONGEST: Final = 1000  # characters of a field
LISTS: Final = ("alt_zh", "alt_en", "latin", "notation", "broader")
_TCM_SIGN = resource("scheme-tcm-sign")
_WRITTEN = frozenset({
    RDF.type, SKOS.inScheme, SKOS.prefLabel, SKOS.altLabel, SHIYI.latinName, SKOS.notation,
    SHIYI.pinyin, SKOS.definition, SKOS.scopeNote, SKOS.broader,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One concept as a row of its table; several values of a list stand in their order."""

    id: str
    class_name: str
    zh: str
    en: str
    alt_zh: tuple[str, ...] = ()
    alt_en: tuple[str, ...] = ()
    pinyin: str = ""
    latin: tuple[str, ...] = ()
    notation: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    definition_zh: str = ""
    definition_en: str = ""
    scope_zh: str = ""
    scope_en: str = ""
    tcm_only: bool = False

    @property
    def iri(self) -> NamedNode:
        """Name the concept."""
        return resource(self.id)

    @classmethod
    def of_form(cls, form: Mapping[str, str], id_: str = "", class_name: str = "") -> "Entry":
        """Read a form; lists stand one value a line, or between bars."""
        said: dict[str, object] = {}
        for each in fields(cls):
            value = form.get(each.name, "").replace("\r\n", "\n").strip()
            if each.name in LISTS:
                parts = (part.strip() for part in value.replace("|", "\n").split("\n"))
                said[each.name] = tuple(dict.fromkeys(part for part in parts if part))
            elif each.name == "tcm_only":
                said[each.name] = bool(value)
            else:
                said[each.name] = " ".join(value.split())
        said["id"], said["class_name"] = id_ or said["id"], class_name or said["class_name"]
        return cls(**said)  # type: ignore[arg-type] # each field has its kind above

    def cells(self) -> dict[str, str]:
        """Write the row of the concept's table."""
        found = {
            each.name: "|".join(getattr(self, each.name)) if each.name in LISTS
            else str(getattr(self, each.name))
            for each in fields(self) if each.name not in ("class_name", "tcm_only")
        }  # fmt: skip
        return found | {"class": self.class_name, "note": TCM_ONLY if self.tcm_only else ""}

    def quads(self) -> Iterator[Quad]:
        """Yield what the base says of the concept."""
        concept = TabledConcept(
            **{each.name: getattr(self, each.name) for each in fields(self)
               if each.name != "broader"},
            broader=self.broader,
        )  # fmt: skip
        yield from concept_quads(concept, self.broader, pinyin_of(concept))
        if not self.broader:
            scheme = resource(f"scheme-{KINDS[self.class_name]}")
            yield Quad(scheme, SKOS.hasTopConcept, self.iri, DEFAULT)


def entry_of(store: QuadStore, iri: str) -> Entry | None:
    """Read a concept of the base; None where it holds none of that name."""
    node = NamedNode(iri)
    kinds = [
        local_name(text(q.object)) for q in store.match(node, RDF.type, None, DEFAULT)
        if text(q.object).startswith(VOCAB)
    ]  # fmt: skip
    known = sorted((each for each in kinds if each in KINDS), key=list(KINDS).index)
    if not iri.startswith(ID) or not known:
        return None

    def texts(predicate: NamedNode, language: str | None) -> tuple[str, ...]:
        found = (q.object for q in store.match(node, predicate, None, DEFAULT))
        return tuple(sorted(
            each.value for each in found
            if isinstance(each, Literal) and (each.language or None) == language
        ))  # fmt: skip

    def first(predicate: NamedNode, language: str | None) -> str:
        return next(iter(texts(predicate, language)), "")

    broader = (text(q.object) for q in store.match(node, SKOS.broader, None, DEFAULT))
    made = Entry(
        iri.removeprefix(ID), known[0], first(SKOS.prefLabel, "zh"), first(SKOS.prefLabel, "en"),
        texts(SKOS.altLabel, "zh"), texts(SKOS.altLabel, "en"), one(store, node, SHIYI.pinyin, DEFAULT),
        texts(SHIYI.latinName, None), texts(SKOS.notation, None),
        tuple(sorted(each.removeprefix(ID) for each in broader)), first(SKOS.definition, "zh"),
        first(SKOS.definition, "en"), first(SKOS.scopeNote, "zh"), first(SKOS.scopeNote, "en"),
        any(store.match(node, SKOS.inScheme, _TCM_SIGN, DEFAULT)),
    )  # fmt: skip
    bare = replace(made, pinyin="")
    return bare if pinyin_of_entry(bare) == made.pinyin else made


def pinyin_of_entry(entry: Entry) -> str:
    """Give the pinyin that a concept has without one of its own."""
    return pinyin_of(TabledConcept(entry.id, entry.class_name, entry.zh, entry.en))


def added(store: QuadStore, entry: Entry, reason: str, key: str = "") -> Edit:
    """Write a new concept."""
    return Edit("add-concept", (entry.iri.value,), reason, (), tuple(entry.quads()), key=key)


def changed(store: QuadStore, entry: Entry, reason: str, version: str, key: str = "") -> Edit:
    """Write what changed of a concept; what no form holds stays."""
    gone, come = difference(store, entry)
    if not (gone or come):
        raise UsageError("nothing is changed")
    return Edit(
        "edit-concept", (entry.iri.value,), reason, tuple(gone), tuple(come),
        {entry.iri.value: version} if version else {}, key=key,
    )  # fmt: skip


def difference(store: QuadStore, entry: Entry) -> tuple[list[Quad], list[Quad]]:
    """Give what goes and what comes to make the base say what an entry says."""
    after = set(entry.quads())
    before = own_quads(store, entry.iri)
    return sorted(before - after, key=str), sorted(after - before, key=str)


def own_quads(store: QuadStore, node: NamedNode) -> set[Quad]:
    """Give what a form holds of a concept, as the base says it."""
    found = {q for q in store.match(node, None, None, DEFAULT) if q.predicate in _WRITTEN}
    return found | set(store.match(None, SKOS.hasTopConcept, node, DEFAULT))


def faults_of(store: QuadStore, entry: Entry, is_new: bool) -> tuple[Fault, ...]:
    """List what is wrong with a concept before the shapes are asked."""
    return (*_names(store, entry, is_new), *_texts(entry), *_above(store, entry))


def _names(store: QuadStore, entry: Entry, is_new: bool) -> Iterator[Fault]:
    kind = KINDS.get(entry.class_name, "")
    if not kind:
        yield fault("class_name", "unknown_class", words=entry.class_name[:60])
        return
    if not ID_FORM.fullmatch(entry.id) or not entry.id.startswith(f"{kind}-"):
        yield fault("id", "id_form", words=f"{kind}-…")
    elif is_new and (
        entry_of(store, entry.iri.value) or any(store.match(entry.iri, None, None, RETIRED))
    ):
        yield fault("id", "id_taken")
    for language, label in (("zh", entry.zh), ("en", entry.en)):
        if not label:
            yield fault(language, "no_label", language=language)
        for other in _called(store, label, language, kind) if label else ():
            if other != entry.id:
                yield fault(language, "label_taken", words=label, names=other)


def _called(store: QuadStore, label: str, language: str, kind: str) -> Iterator[str]:
    """Yield the concepts of a kind that have a preferred label."""
    for quad in store.match(None, SKOS.prefLabel, Literal(label, language=language), DEFAULT):
        name = text(quad.subject).removeprefix(ID)
        if name.partition("-")[0] == kind:
            yield name


def _texts(entry: Entry) -> Iterator[Fault]:
    for each in fields(entry):
        value = getattr(entry, each.name)
        for part in value if isinstance(value, tuple) else (str(value),):
            if len(part) > LONGEST:
                yield fault(each.name, "too_long")
            elif (not part.isprintable() and part) or (each.name in LISTS and "|" in part):
                yield fault(each.name, "control")


def _above(store: QuadStore, entry: Entry) -> Iterator[Fault]:
    kind = KINDS.get(entry.class_name, "")
    for each in entry.broader:
        above = entry_of(store, ID + each) if each.isascii() else None
        if above is None or KINDS[above.class_name] != kind:
            yield fault("broader", "unknown_concept", words=each[:80])
        elif entry.id in ancestors(store, each) | {each}:
            yield fault("broader", "cycle", words=each)


def ancestors(store: QuadStore, name: str) -> set[str]:
    """Give the ids of everything broader than a concept."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for quad in store.match(resource(waiting.pop()), SKOS.broader, None, DEFAULT):
            above = text(quad.object).removeprefix(ID)
            if above not in seen:
                seen.add(above)
                waiting.append(above)
    return seen


def narrower(store: QuadStore, node: NamedNode) -> list[NamedNode]:
    """List what stands directly below a concept."""
    found: Iterable[Quad] = store.match(None, SKOS.broader, node, DEFAULT)
    return sorted((q.subject for q in found if isinstance(q.subject, NamedNode)), key=str)
