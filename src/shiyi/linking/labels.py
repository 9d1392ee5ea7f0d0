"""Every label of every concept."""

import csv
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import numpy as np

from shiyi.columnar.mapped_file import Memmap, words, write
from shiyi.columnar.strings import Array, Rows, Strings
from shiyi.errors import IndexMismatchError, RangeError
from shiyi.linking.normalization import is_cjk, syllables
from shiyi.model.iris import ID, UMLS
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, local_name, text
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.base.writer import last_applied
from shiyi.sparql.store.port import QuadStore, match_own

FORMAT = "4"
FILE = "labels.safetensors"

# what an ambiguous name most often means, first; names of a kind not listed are not linked
KINDS = (
    "MFHSubstance", "Food", "Herb", "Dish", "Formula", "DSIngredient", "DSProduct", "Drug",
    "DrugClass", "EmergencySign", "Symptom", "Disease", "TCMDisease", "Syndrome", "Constitution",
    "Population", "Organism", "ChemicalEntity", "RegulatoryStatus", "Efficacy", "Therapy",
    "CausalFactor", "Season", "Method", "TherapeuticClass", "OrganismPart", "SystemOrganClass",
    "Nature", "Flavour", "Meridian", "ToxicityLevel", "FoodGroup", "Rule",
)  # fmt: skip

PREFERRED, ALTERNATIVE, LATIN = "preferred", "alternative", "latin"


@dataclass(frozen=True, slots=True)
class Concept:
    """What a label stands for."""

    iri: str
    kind: str
    zh: str
    en: str
    cui: str = ""
    notation: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """One name: ``concept`` is the place of what it names."""

    text: str
    language: str  # zh, en or la
    concept: int
    role: str  # preferred, alternative or latin

    @property
    def pinyin(self) -> tuple[str, ...]:
        """Return the syllables of a Chinese name, no tones."""
        return syllables(self.text) if self.language == "zh" else ()


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """All labels of one release, in the order of their concepts; ``kinds`` are their classes.

    ``through`` is the number of the last change of the base that they follow.
    """

    release: str
    concepts: Sequence[Concept]
    labels: Sequence[Label]
    kinds: Sequence[str] = field(default=(), compare=False)
    through: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        if not self.kinds:
            object.__setattr__(self, "kinds", tuple(concept.kind for concept in self.concepts))

    @classmethod
    def from_store(
        cls, store: QuadStore, release: str, concepts: Iterable[str] | None = None
    ) -> Self:
        """Read the labels of the accepted view, of some concepts or of all."""
        nodes = None if concepts is None else [NamedNode(concept) for concept in concepts]
        through, kinds = last_applied(store), _kinds(store, nodes)
        names: dict[str, list[tuple[str, str, str]]] = {iri: [] for iri in kinds}
        for node, role in _NAMED_BY:
            for iri, value in _literals(store, node, nodes):
                if (own := names.get(iri)) is not None:
                    own.append((value.value, "la" if role == LATIN else _language(value), role))
        cuis = _cuis(store, nodes)
        notations = {iri: value.value for iri, value in _literals(store, SKOS.notation, nodes)}
        rows = (
            (
                iri,
                kinds[iri],
                sorted(names.pop(iri), key=_order),
                cuis.get(iri, ""),
                notations.get(iri, ""),
            )
            for iri in sorted(iri for iri, own in names.items() if own)
        )
        return cls._build(rows, release, through)

    @classmethod
    def from_tables(cls, folder: Path, release: str = "tables") -> Self:
        """Read the labels of the concept tables, ``ontology/concepts``, without a store."""
        return cls._build(
            (
                (ID + row["id"], row["class"], list(_names(row)), "", row.get("notation", ""))
                for row in read_rows(folder)
                if row["class"] in KINDS
            ),
            release,
        )

    @classmethod
    def _build(
        cls,
        rows: Iterable[tuple[str, str, Sequence[tuple[str, str, str]], str, str]],
        release: str,
        through: int = 0,
    ) -> Self:
        concepts: list[Concept] = []
        labels: list[Label] = []
        for iri, kind, names, cui, notation in rows:
            place = len(concepts)
            main = {
                language: value for value, language, role in reversed(names) if role == PREFERRED
            }
            zh, en = main.get("zh", ""), main.get("en", "")
            concepts.append(Concept(iri, kind, zh, en, cui, notation))
            own: dict[tuple[str, str], Label] = {}
            for value, language, role in names:
                own.setdefault((value, language), Label(value, language, place, role))
            labels += own.values()
        return cls(release, tuple(concepts), tuple(labels), through=through)

    def save(self, folder: Path) -> Path:
        """Write ``labels.safetensors`` into ``folder``, whole or not at all."""
        concepts, labels = self.concepts, self.labels
        kinds = sorted({concept.kind for concept in concepts})
        roles = [_LANGUAGES.index(n.language) + _ROLE * _ROLES.index(n.role) for n in labels]
        of = np.array([n.concept for n in labels], np.int64)
        if np.any(np.diff(of) < 0):
            raise RangeError("labels come in the order of their concepts")
        columns: dict[str, Array] = {
            "concept.kind": np.array([kinds.index(c.kind) for c in concepts], np.int32),
            "label.role": np.array(roles, np.uint8),
            "label.bounds": np.searchsorted(of, np.arange(len(concepts) + 1)),
        }
        columns |= Strings.of(c.iri for c in concepts).arrays("concept.iri")
        columns |= Strings.of(n.text for n in labels).arrays("label.text")
        for name in ("cui", "notation"):
            columns |= _sparse(
                name, {i: v for i, c in enumerate(concepts) if (v := getattr(c, name))}
            )
        for name in _MAIN:  # mostly the first preferred label, which is not repeated
            first = _preferred_labels(labels, name)
            columns |= _sparse(
                name,
                {
                    i: v
                    for i, c in enumerate(concepts)
                    if (v := getattr(c, name)) != first.get(i, "")
                },
            )
        about = {"format": FORMAT, "release": self.release, "kinds": words(kinds)}
        about["through"] = str(self.through)
        return write(folder / FILE, columns, **about)

    @classmethod
    def load(cls, folder: Path, release: str) -> Self:
        """Open what :meth:`save` wrote; a label is read when it is asked for.

        Raise :class:`IndexMismatchError` where it is damaged, or was made for another release.
        """
        memmap = Memmap.open(folder / FILE, format=FORMAT, release=release)
        bounds = memmap["label.bounds"]
        if len(bounds) - 1 != len(memmap["concept.kind"]) or bounds[-1] != len(
            memmap["label.role"]
        ):
            raise IndexMismatchError(
                f"{folder / FILE} is damaged, a label names no concept: run `shiyi index`"
            )
        labels, names, kind = (
            _labels(memmap, bounds),
            memmap.words("kinds"),
            memmap["concept.kind"].data,
        )
        kinds = Rows(lambda at: names[kind[at]], len(kind))
        through = int(memmap.about.get("through", 0))
        return cls(release, _concepts(memmap, bounds, labels, kinds), labels, kinds, through)


_NAMED_BY: Final = (
    (SKOS.prefLabel, PREFERRED), (SKOS.altLabel, ALTERNATIVE), (SKOS.hiddenLabel, ALTERNATIVE),
    (SHIYI.latinName, LATIN),
)  # fmt: skip
_MAIN: Final = ("zh", "en")
_LANGUAGES: Final = ("zh", "en", "la")
_ROLE: Final = 4  # by which the number of a role is multiplied, beside that of a language
_ROLES: Final = (PREFERRED, ALTERNATIVE, LATIN)


def _preferred_labels(labels: Sequence[Label], language: str) -> dict[int, str]:
    return {
        n.concept: n.text
        for n in reversed(labels)
        if n.role == PREFERRED and n.language == language
    }


def _sparse(name: str, values: Mapping[int, str]) -> dict[str, Array]:
    """Write what few concepts have."""
    texts = Strings.of(values.values()).arrays(f"concept.{name}")
    return {f"concept.{name}.at": np.array([*values], np.uint32)} | texts


def _optional(mapped: Memmap, name: str) -> Callable[[int], str | None]:
    texts, places = mapped.strings(f"concept.{name}"), mapped[f"concept.{name}.at"].data

    def read(place: int) -> str | None:
        row = bisect_left(places, place)
        return texts[row] if row < len(places) and places[row] == place else None

    return read


def _concepts(
    mapped: Memmap, bounds: Array, labels: Sequence[Label], kinds: Sequence[str]
) -> Rows[Concept]:
    iri = mapped.strings("concept.iri")
    zh, en, cui, notation = (_optional(mapped, name) for name in (*_MAIN, "cui", "notation"))

    def read(at: int) -> Concept:
        own = labels[bounds[at] : bounds[at + 1]]
        main = [
            result if (result := few(at)) is not None else _preferred_labels(own, name).get(at, "")
            for few, name in zip((zh, en), _MAIN, strict=True)
        ]
        return Concept(iri[at], kinds[at], main[0], main[1], cui(at) or "", notation(at) or "")

    return Rows(read, len(kinds))


def _labels(mapped: Memmap, bounds: Array) -> Rows[Label]:
    texts, how = mapped.strings("label.text"), mapped["label.role"].data
    concept = np.repeat(np.arange(len(bounds) - 1, dtype=np.int32), np.diff(bounds)).data

    def read(at: int) -> Label:
        role, language = divmod(how[at], _ROLE)
        return Label(texts[at], _LANGUAGES[language], concept[at], _ROLES[role])

    return Rows(read, len(concept))


def read_rows(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the concept tables, cells that are left out as empty strings."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as lines:
            rows = (line for line in lines if not line.startswith("# "))
            for row in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield {name: (row[name] or "").strip() for name in row if name is not None}


def _names(row: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for column, language, role in (
        ("zh", "zh", PREFERRED),
        ("en", "en", PREFERRED),
        ("alt_zh", "zh", ALTERNATIVE),
        ("alt_en", "en", ALTERNATIVE),
        ("latin", "la", LATIN),
    ):
        for value in row.get(column, "").split("|" if role == ALTERNATIVE else "\0"):
            if value.strip():
                yield value.strip(), language, role


def _match(
    store: QuadStore, predicate: NamedNode, concepts: Sequence[NamedNode] | None
) -> Iterator[Quad]:
    """Yield the accepted quads of some concepts, or of all."""
    for node in (None,) if concepts is None else concepts:
        yield from match_own(store, node, predicate, None, DefaultGraph())


def _literals(
    store: QuadStore, predicate: NamedNode, concepts: Sequence[NamedNode] | None
) -> Iterator[tuple[str, Literal]]:
    for quad in _match(store, predicate, concepts):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
            yield quad.subject.value, quad.object


def _kinds(store: QuadStore, concepts: Sequence[NamedNode] | None) -> dict[str, str]:
    """Return the class of each concept; the first of ``KINDS`` where it has several."""
    results: dict[str, str] = {}
    if concepts is not None:
        for node in concepts:
            own = {text(q.object) for q in match_own(store, node, RDF.type, None, DefaultGraph())}
            named = (kind for kind in KINDS if getattr(SHIYI, kind).value in own)
            if kind := next(named, ""):
                results[node.value] = kind
        return results
    for kind in reversed(KINDS):
        for quad in match_own(store, None, RDF.type, getattr(SHIYI, kind), DefaultGraph()):
            if isinstance(quad.subject, NamedNode):
                results[quad.subject.value] = kind
    return results


def _cuis(store: QuadStore, concepts: Sequence[NamedNode] | None) -> dict[str, str]:
    """Return the CUI each concept is the same as; a merely close one is not its CUI."""
    results = {iri: value.value for iri, value in _literals(store, SHIYI.umlsCui, concepts)}
    for quad in _match(store, SKOS.exactMatch, concepts):
        subject, other = quad.subject, quad.object
        if isinstance(other, NamedNode) and isinstance(subject, NamedNode) and UMLS in other.value:
            results[subject.value] = local_name(other.value)
    return results


def _language(value: Literal) -> str:
    if value.language:
        return value.language.split("-")[0]
    return "zh" if any(map(is_cjk, value.value)) else "en"


def _order(name: tuple[str, str, str]) -> tuple[int, str, str]:
    return (PREFERRED, ALTERNATIVE, LATIN).index(name[2]), name[1], name[0]
