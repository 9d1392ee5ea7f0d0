"""The vocabulary reference as HTML: what its template needs, read from the ontology and shapes."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader

from shiyi.artefacts import artefact
from shiyi.errors import FormatError
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import Literal, NamedNode, Term, local_name, parse_turtle, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, RDFS, SKOS
from shiyi.reasoning.classification import Definitions

_SIZE: Final = (1160, 720)
_BOX: Final = (132, 40)
_LINE = 17  # letters that fit a box in one line
_TOWARDS_END = 0.64  # where on an arrow its label stands, so that arrows of one box keep apart
# class -> the middle of its box
BOXES = {
    "Organism": (90, 60), "OrganismPart": (270, 60), "ChemicalEntity": (450, 60),
    "Nature": (650, 60), "Flavour": (810, 60), "Meridian": (970, 60),
    "DSProduct": (90, 220), "DSIngredient": (290, 220), "DietaryMaterial": (580, 220),
    "Efficacy": (830, 200), "Dish": (830, 290), "Formula": (1040, 290),
    "Drug": (90, 380), "Constitution": (450, 400), "Symptom": (640, 400),
    "Syndrome": (830, 400), "Therapy": (1040, 400), "Disease": (640, 510),
    "TCMDisease": (830, 510), "Population": (290, 510), "EmergencySign": (450, 510),
    "Claim": (330, 650), "Evidence": (570, 650), "Source": (810, 650), "School": (1040, 650),
    "Passage": (90, 650), "Section": (90, 540),
}  # fmt: skip
ARROWS = (
    ("DietaryMaterial", "derivedFromOrganism", "Organism"),
    ("DietaryMaterial", "usesPart", "OrganismPart"),
    ("DietaryMaterial", "hasActiveConstituent", "ChemicalEntity"),
    ("DietaryMaterial", "hasNature", "Nature"), ("DietaryMaterial", "hasFlavour", "Flavour"),
    ("DietaryMaterial", "hasMeridianTropism", "Meridian"),
    ("DietaryMaterial", "hasEfficacy", "Efficacy"), ("Dish", "hasIngredient", "DietaryMaterial"),
    ("DSProduct", "hasIngredient", "DSIngredient"), ("DSIngredient", "interactsWith", "Drug"),
    ("Constitution", "suitableFood", "DietaryMaterial"), ("DietaryMaterial", "relieves", "Symptom"),
    ("DietaryMaterial", "contraindicatedIn", "Syndrome"),
    ("Symptom", "relatedConstitution", "Constitution"), ("Syndrome", "hasManifestation", "Symptom"),
    ("Syndrome", "hasTreatmentPrinciple", "Therapy"), ("Therapy", "realisedBy", "Formula"),
    ("TCMDisease", "hasSyndrome", "Syndrome"), ("Symptom", "warrantsCheckFor", "Disease"),
    ("Symptom", "hasRedFlag", "EmergencySign"), ("DSIngredient", "cautionIn", "Population"),
    ("Claim", "evidence", "Evidence"), ("Claim", "supportedByText", "Passage"),
    ("Evidence", "dcterms:source", "Source"), ("Source", "belongsToSchool", "School"),
    ("Passage", "partOfSection", "Section"),
)  # fmt: skip

Facts = dict[str, dict[str, list[Term]]]


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(artefact("server/templates")),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def diagram(title: str, label: Callable[[str], str]) -> str:
    """Draw the core as SVG; ``label`` gives the words of a term, which are links within the page.

    >>> diagram("core", str).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    return (
        _templates()
        .get_template("vocabulary_diagram.svg")
        .render(
            title=title,
            label=label,
            broken=_lines,
            width=_SIZE[0],
            height=_SIZE[1],
            box=_BOX,
            boxes=BOXES,
            arrows=[_arrow(*arrow) for arrow in ARROWS],
        )
    )


def _lines(words: str) -> list[str]:
    """Break a long label at the blank nearest its middle.

    >>> _lines("dietary supplement ingredient")
    ['dietary supplement', 'ingredient']
    """
    blanks = [i for i, letter in enumerate(words) if letter == " "]
    if len(words) <= _LINE or not blanks:
        return [words]
    at = min(blanks, key=lambda i: abs(i - len(words) / 2))
    return [words[:at], words[at + 1 :]]


def _arrow(start: str, name: str, end: str) -> dict[str, Any]:
    x1, y1 = _edge(BOXES[start], BOXES[end])
    x2, y2 = _edge(BOXES[end], BOXES[start])
    level = abs(y2 - y1) < _BOX[1]  # between neighbours of one row the label stands above
    share = 0.5 if level else _TOWARDS_END
    return {
        "name": name,
        "outside": ":" in name,
        "line": f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}",
        "x": round(x1 + (x2 - x1) * share),
        "y": round(y1 + (y2 - y1) * share) - (26 if level else 3),
    }


def _edge(inside: tuple[int, int], towards: tuple[int, int]) -> tuple[float, float]:
    """Return the point where the line between two middles leaves the first box."""
    ways = [b - a for a, b in zip(inside, towards, strict=True)]
    scale = min(side / 2 / abs(way) for side, way in zip(_BOX, ways, strict=True) if way)
    return inside[0] + ways[0] * scale, inside[1] + ways[1] * scale


@dataclass(frozen=True, slots=True)
class _Page:
    """The data of the page, in one language."""

    language: str
    facts: Facts
    schema: Schema = field(default_factory=Schema.load)
    matches: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def word(self, key: str) -> str:
        return sentences("vocabulary-page")[key][self.language == "en"]

    def value(self, subject: str, predicate: str) -> str:
        """Return the text in the page's language, else one without a language."""
        results = {
            t.language: t.value
            for t in self.facts[subject][predicate][::-1]
            if isinstance(t, Literal)
        }
        return results.get(self.language) or results.get(None, "")

    def text(self, name: str, predicate: str) -> str:
        """Return what a prefixed predicate says of a term, or of the vocabulary."""
        prefix, _, local = predicate.partition(":")
        return self.value(VOCAB + name if name else VOCAB.rstrip("#"), PREFIXES[prefix] + local)

    def label(self, name: str) -> str:
        return self.text(name, "rdfs:label") if ":" not in name else name

    def narrower(self, name: str) -> list[str]:
        return [each for each, above in self.schema.parents.items() if name in above]

    def properties_of(self, name: str, side: str) -> list[str]:
        properties = self.schema.properties.values()
        return [each.name for each in properties if name in getattr(each, side)]

    def datatypes(self, name: str) -> list[str]:
        ranges = self.facts[VOCAB + name][RDFS.range.value]
        return [local_name(term.value) for term in ranges if isinstance(term, NamedNode)]

    def terms_of(self, kind: str) -> list[str]:
        node = NamedNode(PREFIXES["owl"] + kind)
        return [local_name(s) for s, value in self.facts.items() if node in value[RDF.type.value]]

    def characters(self, name: str) -> list[str]:
        kinds = ("Symmetric", "Asymmetric", "Irreflexive", "Transitive")
        return [kind for kind in kinds if name in self.terms_of(f"{kind}Property")]


def reference_html(language: str, stylesheet: str = "") -> str:
    """Write the reference in ``zh`` or ``en`` as one page.

    It loads nothing from elsewhere, but for a ``stylesheet`` where its address is given.
    Raises :class:`FormatError` for another language.
    """
    if language not in ("zh", "en"):
        raise FormatError("language", language, ("zh", "en"))
    page = _Page(language, _facts("ontology/shiyi.ttl"), matches=_matches())
    defined = (local_name(node.value) for node in Definitions.load().defined)
    return (
        _templates()
        .get_template("vocabulary_reference.html")
        .render(
            page=page,
            namespace_iri=VOCAB,
            stylesheet=stylesheet,
            style=artefact("server/static/css/reference.css").read_text("utf-8"),
            drawing=diagram(page.word("core"), page.label),
            classes={**page.schema.parents, **dict.fromkeys(defined, ())},
            inverse=_inverse(page.facts),
            annotations=sorted(page.terms_of("AnnotationProperty")),
            schemes=list(_schemes(_Page(language, _facts("ontology/schemes.ttl")))),
            shapes=list(_shapes(language)),
        )
    )


def _facts(path: str) -> Facts:
    results: Facts = defaultdict(lambda: defaultdict(list))
    for quad in parse_turtle(artefact(path).read_text(encoding="utf-8")):
        results[text(quad.subject)][quad.predicate.value].append(quad.object)
    return results


def _matches() -> dict[str, list[tuple[str, str]]]:
    """Read what each term is mapped to: predicate and object, negated mappings left out."""
    lines = artefact("ontology/mappings/vocabulary.sssom.tsv").read_text("utf-8").splitlines()
    header, *rows = (line.split("\t") for line in lines if not line.startswith("#"))
    results: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        cell = dict(zip(header, row, strict=False))
        if not cell["predicate_modifier"]:
            pair = (cell["predicate_id"].removeprefix("skos:"), cell["object_id"])
            results[cell["subject_id"].removeprefix("voc:")].append(pair)
    return results


def _inverse(facts: Facts) -> dict[str, str]:
    """Return the inverse of each property that has one, stated of either."""
    pairs = [
        (local_name(subject), local_name(text(term)))
        for subject, value in facts.items()
        for term in value.get(PREFIXES["owl"] + "inverseOf", ())
    ]
    return dict(pairs) | {other: name for name, other in pairs}


def _schemes(page: _Page) -> Iterator[dict[str, str]]:
    for iri in [s for s in page.facts if s.startswith(f"{ID}scheme-")]:
        members = [
            page.value(subject, SKOS.prefLabel.value)
            for subject, term in page.facts.items()
            if NamedNode(iri) in term.get(SKOS.inScheme.value, ())
        ]
        sources = [local_name(text(fact)) for fact in page.facts[iri][DCTERMS.source.value]]
        yield {
            "name": local_name(iri),
            "title": page.value(iri, DCTERMS.title.value),
            "definition": page.value(iri, SKOS.definition.value),
            "source": page.value(iri, DCTERMS.source.value) or ", ".join(sources),
            "members": page.word("comma").join(members),
        }


def _shapes(language: str) -> Iterator[dict[str, Any]]:
    sh = PREFIXES["sh"]
    for path in sorted(artefact("shapes").glob("*.ttl")):
        page = _Page(language, _facts(f"shapes/{path.name}"))
        targets = {
            text(term)
            for value in page.facts.values()
            for key in ("targetClass", "targetSubjectsOf")
            for term in value.get(sh + key, ())
        }
        rules = {page.value(node, f"{sh}message") for node in page.facts}
        yield {"name": path.stem, "targets": sorted(targets), "rules": sorted(rules - {""})}
