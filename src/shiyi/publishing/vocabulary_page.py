"""The vocabulary reference as HTML."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from shiyi.artefacts import artefact
from shiyi.errors import FormatError
from shiyi.model.iris import ID, VOCAB
from shiyi.model.rdf import Literal, NamedNode, Term, local_name, parse_turtle, text
from shiyi.ontology.lexicon import sentences
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, RDFS, SKOS
from shiyi.reasoning.classification import Definitions

STYLE = (
    "body{max-width:72rem;margin:auto;padding:1rem;font:1rem/1.6 system-ui,sans-serif;"
    "overflow-wrap:anywhere;color:#222;background:#fff}code{font-size:.85em;color:#555}"
    "nav{margin:1rem 0}article{border-top:1px solid #ddd;padding:.4rem 0}"
    "h3{margin:.3rem 0}p{margin:.2rem 0}"
    "dl{display:grid;grid-template-columns:minmax(4rem,8rem) minmax(0,1fr);"
    "margin:.3rem 0;gap:.1rem 1rem}dd{margin:0}"
    "dt{color:#666}a{color:#7a2e1d}:target{background:#fff6da}figure{margin:0;overflow-x:auto}"
    "svg{min-width:60rem;width:100%}rect{fill:#fdf3e4;stroke:#9c4a2f}"
    "text{font-size:13px;text-anchor:middle;fill:#222}text.said{font-size:11px;fill:#7a2e1d;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".line{stroke:#9c8a7c;fill:none}#tip path{fill:#9c8a7c}"
    "@media(prefers-color-scheme:dark){body{background:#1b1917;color:#eee}a{color:#f0a98c}"
    "code,dt{color:#aaa}article{border-color:#444}:target{background:#3a3220}"
    "rect{fill:#2c2622}text{fill:#eee}text.said{fill:#f0a98c;stroke:#1b1917}}"
)


WIDTH, HEIGHT = 1160, 720
_W, _H = 132, 40
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


def diagram(title: str, label: Callable[[str], str]) -> str:
    """Draw the core as SVG; ``label`` gives the words of a term, which are links within the page.

    >>> diagram("core", str).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" '
        f'aria-label="{escape(title)}"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
        'markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    parts = [head]
    parts += [_arrow(*each, label) for each in ARROWS]
    parts += [_box(name, label(name)) for name in BOXES]
    return "".join(parts) + "</svg>"


def _box(name: str, words: str) -> str:
    x, y = BOXES[name]
    lines = _lines(words)
    value = "".join(
        f'<text x="{x}" y="{y + 5 + 16 * i - 8 * (len(lines) - 1)}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="#{escape(name)}"><rect x="{x - _W // 2}" y="{y - _H // 2}" width="{_W}" '
        f'height="{_H}" rx="6"/>{value}</a>'
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


def _arrow(start: str, name: str, end: str, label: Callable[[str], str]) -> str:
    x1, y1 = _edge(BOXES[start], BOXES[end])
    x2, y2 = _edge(BOXES[end], BOXES[start])
    level = abs(y2 - y1) < _H  # between neighbours of one row the label stands above, between them
    share = 0.5 if level else _TOWARDS_END
    x, y = round(x1 + (x2 - x1) * share), round(y1 + (y2 - y1) * share)
    value = (
        f'<text class="said" x="{x}" y="{y - (26 if level else 3)}">{escape(label(name))}</text>'
    )
    line = f'<path class="line" d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" marker-end="url(#tip)"/>'
    return line + (value if ":" in name else f'<a href="#{escape(name)}">{value}</a>')


def _edge(inside: tuple[int, int], towards: tuple[int, int]) -> tuple[float, float]:
    """Return the point where the line between two middles leaves the first box."""
    dx, dy = towards[0] - inside[0], towards[1] - inside[1]
    scale = min(_W / 2 / abs(dx) if dx else float("inf"), _H / 2 / abs(dy) if dy else float("inf"))
    return inside[0] + dx * scale, inside[1] + dy * scale


_SH = PREFIXES["sh"]
_EXAMPLE = PREFIXES["skos"] + "example"
_INVERSE = PREFIXES["owl"] + "inverseOf"
Facts = dict[str, dict[str, list[Term]]]


@dataclass(frozen=True, slots=True)
class _Page:
    """The data of the page, in one language."""

    language: str
    facts: Facts
    schema: Schema
    matches: dict[str, list[tuple[str, str]]]

    def word(self, key: str) -> str:
        return sentences("vocabulary-page")[key][self.language == "en"]

    def value(self, subject: str, predicate: str) -> str:
        """Return the text in the page's language, else one without a language."""
        results = [t for t in self.facts[subject][predicate] if isinstance(t, Literal)]
        for language in (self.language, None):
            for each in results:
                if each.language == language:
                    return each.value
        return ""

    def label(self, name: str) -> str:
        return self.value(VOCAB + name, RDFS.label.value) or name

    def link(self, name: str) -> str:
        return f'<a href="#{escape(name)}">{escape(self.label(name))}</a>'

    def links(self, names: Iterable[str]) -> str:
        return self.word("comma").join(self.link(each) for each in sorted(names))


def reference_html(language: str) -> str:
    """Write the reference in ``zh`` or ``en`` as one page that loads nothing from elsewhere.

    Raises :class:`FormatError` for another language.
    """
    if language not in ("zh", "en"):
        raise FormatError("language", language, ("zh", "en"))
    page = _Page(language, _facts("ontology/shiyi.ttl"), Schema.load(), _matches())
    schemes = _Page(language, _facts("ontology/schemes.ttl"), page.schema, {})
    sections = {
        "classes": _classes(page), "properties": _properties(page), "schemes": _schemes(schemes),
        "shapes": _shapes(page),
    }  # fmt: skip
    title = escape(page.value(VOCAB.rstrip("#"), DCTERMS.title.value))
    contents = " · ".join(f'<a href="#{key}">{page.word(key)}</a>' for key in sections)
    body = "".join(
        f'<section><h2 id="{key}">{page.word(key)}</h2>{"".join(entries)}</section>'
        for key, entries in sections.items()
    )
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><main><h1>{title}</h1>"
        f"<p><code>{escape(VOCAB)}</code></p><nav>{contents}</nav>"
        f"<figure>{diagram(page.word('core'), page.label)}"
        f"<figcaption>{page.word('core')}</figcaption></figure>{body}</main></body></html>\n"
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


def _entry(page: _Page, name: str, heading: str, lines: Iterable[tuple[str, str]]) -> str:
    """Write one term: its names, its definition, then a line for each thing known of it."""
    subject = VOCAB + name
    matches = "；".join(
        f"{kind} <code>{escape(to)}</code>" for kind, to in page.matches.get(name, ())
    )
    more = (
        *lines,
        ("alignment", matches),
        ("source", escape(page.value(subject, DCTERMS.source.value))),
        ("example", escape(page.value(subject, _EXAMPLE))),
    )
    words = "".join(f"<dt>{page.word(key)}</dt><dd>{value}</dd>" for key, value in more if value)
    definition = escape(page.value(subject, SKOS.definition.value))
    return (
        f'<article id="{escape(name)}"><h3>{escape(heading)} <code>{escape(name)}</code></h3>'
        f"<p>{definition}</p><dl>{words}</dl></article>"
    )


def _classes(page: _Page) -> Iterator[str]:
    defined = dict.fromkeys((local_name(c.value) for c in Definitions.load().defined), ())
    for name, parents in {**page.schema.parents, **defined}.items():
        below = [each for each, above in page.schema.parents.items() if name in above]
        properties = page.schema.properties.values()
        yield _entry(
            page,
            name,
            page.label(name),
            (
                ("broader", page.links(parents)),
                ("narrower", page.links(below)),
                ("subject_of", page.links(each.name for each in properties if name in each.domain)),
                ("object_of", page.links(each.name for each in properties if name in each.range)),
            ),
        )


def _properties(page: _Page) -> Iterator[str]:
    inverse = {
        local_name(text(term)): local_name(subject)
        for subject, value in page.facts.items()
        for term in value.get(_INVERSE, ())
    }
    for name, each in page.schema.properties.items():
        turned = next((b for b, a in inverse.items() if a == name), inverse.get(name, ""))
        yield _entry(
            page,
            name,
            page.label(name),
            (
                ("broader", page.links(each.parents)),
                ("domain", page.links(each.domain)),
                ("range", page.links(each.range) or _datatype(page, name)),
                ("inverse", page.link(turned) if turned else ""),
                ("character", page.word("comma").join(_character(page, name))),
                ("inheritance", _inheritance(page, each)),
            ),
        )
    for name in sorted(_list_typed(page, "AnnotationProperty")):
        yield _entry(page, name, page.label(name), ())


def _list_typed(page: _Page, kind: str) -> list[str]:
    wanted = NamedNode(PREFIXES["owl"] + kind)
    return [local_name(s) for s, value in page.facts.items() if wanted in value[RDF.type.value]]


def _datatype(page: _Page, name: str) -> str:
    return "".join(
        f"<code>{escape(local_name(text(each)))}</code>"
        for each in page.facts[VOCAB + name][RDFS.range.value]
        if isinstance(each, NamedNode)
    )


def _character(page: _Page, name: str) -> Iterator[str]:
    for kind in ("Symmetric", "Asymmetric", "Irreflexive", "Transitive"):
        if name in _list_typed(page, f"{kind}Property"):
            yield page.word(kind)


def _inheritance(page: _Page, each: Property) -> str:
    return page.word("comma").join(page.word(f"to_{kind}") for kind in sorted(each.inherits))


def _schemes(page: _Page) -> Iterator[str]:
    in_scheme, title = SKOS.inScheme.value, DCTERMS.title.value
    for iri in [s for s in page.facts if s.startswith(f"{ID}scheme-")]:
        name = local_name(iri)
        members = [
            escape(page.value(subject, SKOS.prefLabel.value))
            for subject, term in page.facts.items()
            if NamedNode(iri) in term.get(in_scheme, ())
        ]
        source = page.value(iri, DCTERMS.source.value) or ", ".join(
            local_name(text(each)) for each in page.facts[iri][DCTERMS.source.value]
        )
        lines = (("source", escape(source)), ("members", page.word("comma").join(members)))
        words = "".join(
            f"<dt>{page.word(key)}</dt><dd>{value}</dd>" for key, value in lines if value
        )
        yield (
            f'<article id="{escape(name)}"><h3>{escape(page.value(iri, title))} '
            f"<code>{escape(name)}</code></h3>"
            f"<p>{escape(page.value(iri, SKOS.definition.value))}</p><dl>{words}</dl></article>"
        )


def _shapes(page: _Page) -> Iterator[str]:
    for path in sorted(artefact("shapes").glob("*.ttl")):
        shapes = _Page(page.language, _facts(f"shapes/{path.name}"), page.schema, {})
        messages = {shapes.value(node, f"{_SH}message") for node in shapes.facts}
        rules = "".join(f"<li>{escape(each)}</li>" for each in sorted(messages - {""}))
        yield (
            f'<article id="shape-{escape(path.stem)}"><h3><code>{escape(path.stem)}</code></h3>'
            f"<p>{_targets(shapes, page.link)}</p><ul>{rules}</ul></article>"
        )


def _targets(shapes: _Page, link: Callable[[str], str]) -> str:
    results = {
        text(term)
        for value in shapes.facts.values()
        for key in ("targetClass", "targetSubjectsOf")
        for term in value.get(f"{_SH}{key}", ())
    }
    return shapes.word("comma").join(
        link(local_name(each))
        if each.startswith(VOCAB)
        else f"<code>{escape(local_name(each))}</code>"
        for each in sorted(results)
    )
