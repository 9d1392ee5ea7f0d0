"""The vocabulary as a page for people: every class, property, scheme and shape, linked."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape

from shiyi.artefacts import artefact
from shiyi.errors import FormatError
from shiyi.model.names import ID, VOCAB
from shiyi.model.rdf import Literal, NamedNode, Term, local_name, parse_turtle, text
from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, RDFS, SKOS
from shiyi.ontology.vocabulary import Property, Schema
from shiyi.publishing.diagram import diagram
from shiyi.publishing.words import STYLE, WORDS

_SH = PREFIXES["sh"]
_EXAMPLE = PREFIXES["skos"] + "example"
_INVERSE = PREFIXES["owl"] + "inverseOf"
Facts = dict[str, dict[str, list[Term]]]


@dataclass(frozen=True, slots=True)
class _Page:
    """What the page is written from, in one language."""

    language: str
    facts: Facts
    schema: Schema
    matches: dict[str, list[tuple[str, str]]]

    def word(self, key: str) -> str:
        return WORDS[key][self.language == "en"]

    def said(self, subject: str, predicate: str) -> str:
        """Give the text in the page's language, else one without a language."""
        found = [t for t in self.facts[subject][predicate] if isinstance(t, Literal)]
        for language in (self.language, None):
            for each in found:
                if each.language == language:
                    return each.value
        return ""

    def label(self, name: str) -> str:
        return self.said(VOCAB + name, RDFS.label.value) or name

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
        "classes": _classes(page), "properties": _properties(page),
        "schemes": _schemes(schemes), "shapes": _shapes(page),
    }  # fmt: skip
    title = escape(page.said(VOCAB.rstrip("#"), DCTERMS.title.value))
    contents = " · ".join(f'<a href="#{key}">{page.word(key)}</a>' for key in sections)
    body = "".join(
        f'<section><h2 id="{key}">{page.word(key)}</h2>{"".join(entries)}</section>'
        for key, entries in sections.items()
    )
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
        f"<p><code>{escape(VOCAB)}</code></p><nav>{contents}</nav>"
        f"<figure>{diagram(page.word('core'), page.label)}"
        f"<figcaption>{page.word('core')}</figcaption></figure>{body}</body></html>\n"
    )


def _facts(path: str) -> Facts:
    found: Facts = defaultdict(lambda: defaultdict(list))
    for quad in parse_turtle(artefact(path).read_text(encoding="utf-8")):
        found[text(quad.subject)][quad.predicate.value].append(quad.object)
    return found


def _matches() -> dict[str, list[tuple[str, str]]]:
    """Read what each term is mapped to: predicate and object, negated mappings left out."""
    lines = artefact("ontology/mappings/vocabulary.sssom.tsv").read_text("utf-8").splitlines()
    header, *rows = (line.split("\t") for line in lines if not line.startswith("#"))
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        cell = dict(zip(header, row, strict=False))
        if not cell["predicate_modifier"]:
            pair = (cell["predicate_id"].removeprefix("skos:"), cell["object_id"])
            found[cell["subject_id"].removeprefix("voc:")].append(pair)
    return found


def _entry(page: _Page, name: str, heading: str, lines: Iterable[tuple[str, str]]) -> str:
    """Write one term: its names, its definition, then a line for each thing known of it."""
    subject = VOCAB + name
    matches = "；".join(
        f"{kind} <code>{escape(to)}</code>" for kind, to in page.matches.get(name, ())
    )
    more = (
        *lines, ("alignment", matches), ("source", escape(page.said(subject, DCTERMS.source.value))),
        ("example", escape(page.said(subject, _EXAMPLE))),
    )  # fmt: skip
    told = "".join(f"<dt>{page.word(key)}</dt><dd>{value}</dd>" for key, value in more if value)
    definition = escape(page.said(subject, SKOS.definition.value))
    return (
        f'<article id="{escape(name)}"><h3>{escape(heading)} <code>{escape(name)}</code></h3>'
        f"<p>{definition}</p><dl>{told}</dl></article>"
    )


def _classes(page: _Page) -> Iterator[str]:
    for name, parents in page.schema.parents.items():
        below = [each for each, above in page.schema.parents.items() if name in above]
        properties = page.schema.properties.values()
        yield _entry(page, name, page.label(name), (
            ("broader", page.links(parents)), ("narrower", page.links(below)),
            ("subject_of", page.links(each.name for each in properties if name in each.domain)),
            ("object_of", page.links(each.name for each in properties if name in each.range)),
        ))  # fmt: skip


def _properties(page: _Page) -> Iterator[str]:
    inverse = {
        local_name(text(term)): local_name(subject)
        for subject, said in page.facts.items()
        for term in said.get(_INVERSE, ())
    }
    for name, each in page.schema.properties.items():
        turned = next((b for b, a in inverse.items() if a == name), inverse.get(name, ""))
        yield _entry(page, name, page.label(name), (
            ("broader", page.links(each.parents)), ("domain", page.links(each.domain)),
            ("range", page.links(each.range) or _datatype(page, name)),
            ("inverse", page.link(turned) if turned else ""),
            ("character", page.word("comma").join(_character(page, name))),
            ("inheritance", _inheritance(page, each)),
        ))  # fmt: skip
    for name in sorted(_typed(page, "AnnotationProperty")):
        yield _entry(page, name, page.label(name), ())


def _typed(page: _Page, kind: str) -> list[str]:
    wanted = NamedNode(PREFIXES["owl"] + kind)
    return [local_name(s) for s, said in page.facts.items() if wanted in said[RDF.type.value]]


def _datatype(page: _Page, name: str) -> str:
    return "".join(
        f"<code>{escape(local_name(text(each)))}</code>"
        for each in page.facts[VOCAB + name][RDFS.range.value]
        if isinstance(each, NamedNode)
    )


def _character(page: _Page, name: str) -> Iterator[str]:
    for kind in ("Symmetric", "Asymmetric", "Irreflexive", "Transitive"):
        if name in _typed(page, f"{kind}Property"):
            yield page.word(kind)


def _inheritance(page: _Page, each: Property) -> str:
    return page.word("comma").join(page.word(f"to_{kind}") for kind in sorted(each.inherits))


def _schemes(page: _Page) -> Iterator[str]:
    in_scheme, title = SKOS.inScheme.value, DCTERMS.title.value
    for iri in [s for s in page.facts if s.startswith(f"{ID}scheme-")]:
        name = local_name(iri)
        members = [
            escape(page.said(subject, SKOS.prefLabel.value))
            for subject, said in page.facts.items()
            if NamedNode(iri) in said.get(in_scheme, ())
        ]
        source = page.said(iri, DCTERMS.source.value) or ", ".join(
            local_name(text(each)) for each in page.facts[iri][DCTERMS.source.value]
        )
        lines = (("source", escape(source)), ("members", page.word("comma").join(members)))
        told = "".join(
            f"<dt>{page.word(key)}</dt><dd>{value}</dd>" for key, value in lines if value
        )
        yield (
            f'<article id="{escape(name)}"><h3>{escape(page.said(iri, title))} '
            f"<code>{escape(name)}</code></h3>"
            f"<p>{escape(page.said(iri, SKOS.definition.value))}</p><dl>{told}</dl></article>"
        )


def _shapes(page: _Page) -> Iterator[str]:
    for path in sorted(artefact("shapes").glob("*.ttl")):
        shapes = _Page(page.language, _facts(f"shapes/{path.name}"), page.schema, {})
        messages = {shapes.said(node, f"{_SH}message") for node in shapes.facts}
        rules = "".join(f"<li>{escape(each)}</li>" for each in sorted(messages - {""}))
        yield (
            f'<article id="shape-{escape(path.stem)}"><h3><code>{escape(path.stem)}</code></h3>'
            f"<p>{_targets(shapes, page.link)}</p><ul>{rules}</ul></article>"
        )


def _targets(shapes: _Page, link: Callable[[str], str]) -> str:
    found = {
        text(term)
        for said in shapes.facts.values()
        for key in ("targetClass", "targetSubjectsOf")
        for term in said.get(f"{_SH}{key}", ())
    }
    return shapes.word("comma").join(
        link(local_name(each))
        if each.startswith(VOCAB)
        else f"<code>{escape(local_name(each))}</code>"
        for each in sorted(found)
    )
