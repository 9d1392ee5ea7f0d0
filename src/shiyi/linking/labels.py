"""Every name of every concept: read from a store or from tables, kept beside its release."""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from shiyi.errors import IndexMismatchError
from shiyi.linking.normalise import is_cjk
from shiyi.linking.pinyin import syllables
from shiyi.model.names import ID, UMLS
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, local_name
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

FORMAT = 1
FILE = "labels.json"

# what an ambiguous name most often means, first; names of a kind not listed are not linked
KINDS = (
    "MFHSubstance", "Food", "Herb", "Dish", "Formula", "DSIngredient", "DSProduct", "Drug",
    "DrugClass", "EmergencySign", "Symptom", "Disease", "TCMDisease", "Syndrome", "Constitution",
    "Population", "Organism", "ChemicalEntity", "RegulatoryStatus", "Efficacy", "Therapy",
    "CausalFactor", "Season", "Method", "TherapeuticClass", "OrganismPart", "SystemOrganClass",
    "Nature", "Flavour", "Meridian", "ToxicityLevel",
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
    """One name: ``concept`` is the place of what it names; ``pinyin`` its syllables, no tones."""

    text: str
    language: str  # zh, en or la
    concept: int
    role: str  # preferred, alternative or latin
    pinyin: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelIndex:
    """All labels of one release."""

    release: str
    concepts: tuple[Concept, ...]
    labels: tuple[Label, ...]

    @classmethod
    def from_store(cls, store: QuadStore, release: str) -> Self:
        """Read the labels of the accepted view."""
        kinds = _kinds(store)
        names = defaultdict(list)
        for written, role in (
            (SKOS.prefLabel, PREFERRED), (SKOS.altLabel, ALTERNATIVE),
            (SKOS.hiddenLabel, ALTERNATIVE), (SHIYI.latinName, LATIN),
        ):  # fmt: skip
            for iri, value in _literals(store, written):
                language = "la" if role == LATIN else _language(value)
                names[iri].append((value.value, language, role))
        cuis = _cuis(store)
        notations = {iri: value.value for iri, value in _literals(store, SKOS.notation)}
        rows = (
            (iri, kinds[iri], sorted(names[iri], key=_order), cuis.get(iri, ""),
             notations.get(iri, ""))
            for iri in sorted(names.keys() & kinds.keys())
        )  # fmt: skip
        return cls._made(rows, release)

    @classmethod
    def from_tables(cls, folder: Path, release: str = "tables") -> Self:
        """Read the labels of the concept tables, ``ontology/concepts``, without a store."""
        return cls._made(
            (
                (ID + row["id"], row["class"], list(_names(row)), "", row.get("notation", ""))
                for row in read_rows(folder)
                if row["class"] in KINDS
            ),
            release,
        )

    @classmethod
    def _made(
        cls,
        rows: Iterable[tuple[str, str, Sequence[tuple[str, str, str]], str, str]],
        release: str,
    ) -> Self:
        concepts: list[Concept] = []
        labels: dict[tuple[str, str, int], Label] = {}
        for iri, kind, names, cui, notation in rows:
            place = len(concepts)
            main = {
                language: value for value, language, role in reversed(names) if role == PREFERRED
            }
            zh, en = main.get("zh", ""), main.get("en", "")
            concepts.append(Concept(iri, kind, zh, en, cui, notation))
            for value, language, role in names:
                spoken = syllables(value) if language == "zh" else ()
                key = (value, language, place)
                labels.setdefault(key, Label(value, language, place, role, spoken))
        return cls(release, tuple(concepts), tuple(labels.values()))

    def save(self, folder: Path) -> Path:
        """Write ``labels.json`` into ``folder``, whole or not at all."""
        folder.mkdir(parents=True, exist_ok=True)
        said = {
            "format": FORMAT,
            "release": self.release,
            "concepts": [[c.iri, c.kind, c.zh, c.en, c.cui, c.notation] for c in self.concepts],
            "labels": [
                [n.text, n.language, n.concept, n.role, " ".join(n.pinyin)] for n in self.labels
            ],
        }
        path, partial = folder / FILE, folder / (FILE + ".part")
        partial.write_text(json.dumps(said, ensure_ascii=False, separators=(",", ":")), "utf-8")
        return partial.replace(path)

    @classmethod
    def load(cls, folder: Path, release: str) -> Self:
        """Read what :meth:`save` wrote.

        Raises :class:`IndexMismatchError` where it is damaged, or was made for another release.
        """
        path = folder / FILE
        try:
            said = json.loads(path.read_text("utf-8"))
            if said["format"] == FORMAT and said["release"] == release:
                return cls(release, *_parsed(said))
            why = f"was made for release {said['release']}, format {said['format']}"
        except (ValueError, KeyError, TypeError) as fault:
            why = f"is damaged ({fault!r})"
        raise IndexMismatchError(
            f"{path} {why}; this knowledge base is release {release}: run `shiyi build` again"
        )


def _parsed(said: dict[str, Any]) -> tuple[tuple[Concept, ...], tuple[Label, ...]]:
    concepts = tuple(Concept(*row) for row in said["concepts"])
    labels = tuple(
        Label(text, language, place, role, tuple(spoken.split()))
        for text, language, place, role, spoken in said["labels"]
    )
    if any(not 0 <= label.concept < len(concepts) for label in labels):
        raise ValueError("a label names no concept")
    return concepts, labels


def read_rows(folder: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of the concept tables, cells that are left out as empty strings."""
    for path in sorted(folder.glob("*.tsv")):
        with path.open(encoding="utf-8", newline="") as lines:
            kept = (line for line in lines if not line.startswith("# "))
            for row in csv.DictReader(kept, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield {name: (row[name] or "").strip() for name in row if name is not None}


def _names(row: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for column, language, role in (
        ("zh", "zh", PREFERRED), ("en", "en", PREFERRED), ("alt_zh", "zh", ALTERNATIVE),
        ("alt_en", "en", ALTERNATIVE), ("latin", "la", LATIN),
    ):  # fmt: skip
        for value in row.get(column, "").split("|" if role == ALTERNATIVE else "\0"):
            if value.strip():
                yield value.strip(), language, role


def _literals(store: QuadStore, predicate: NamedNode) -> Iterator[tuple[str, Literal]]:
    for quad in store.match(None, predicate, None, DefaultGraph()):
        if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
            yield quad.subject.value, quad.object


def _kinds(store: QuadStore) -> dict[str, str]:
    """Give the class of each concept; the first of ``KINDS`` where it has several."""
    found: dict[str, str] = {}
    for kind in reversed(KINDS):
        for quad in store.match(None, RDF.type, getattr(SHIYI, kind), DefaultGraph()):
            if isinstance(quad.subject, NamedNode):
                found[quad.subject.value] = kind
    return found


def _cuis(store: QuadStore) -> dict[str, str]:
    """Give the CUI each concept is the same as; a merely close one is not its CUI."""
    found = {iri: value.value for iri, value in _literals(store, SHIYI.umlsCui)}
    for quad in store.match(None, SKOS.exactMatch, None, DefaultGraph()):
        subject, other = quad.subject, quad.object
        if isinstance(other, NamedNode) and isinstance(subject, NamedNode) and UMLS in other.value:
            found[subject.value] = local_name(other.value)
    return found


def _language(value: Literal) -> str:
    if value.language:
        return value.language.split("-")[0]
    return "zh" if any(map(is_cjk, value.value)) else "en"


def _order(name: tuple[str, str, str]) -> tuple[int, str, str]:
    return (PREFERRED, ALTERNATIVE, LATIN).index(name[2]), name[1], name[0]
