"""The queries of sparql/*.rq and sparql/qc/."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from shiyi.artefacts import artefact
from shiyi.errors import FormatError, KnowledgeBaseError, UsageError
from shiyi.model.iris import VOCAB, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, local_name, text
from shiyi.ontology.terms import PREFIXES, RDF, RDFS
from shiyi.sparql.store.port import QuadStore


@dataclass(frozen=True, slots=True)
class Query:
    """A question in English and Chinese, and the SPARQL that answers it."""

    name: str
    question_en: str
    question_zh: str
    text: str

    @classmethod
    def named(cls, name: str) -> "Query":
        """Read ``sparql/<name>.rq``.

        >>> Query.named("about").question_en
        'What is stated about this resource?'
        """
        return _read(name)

    @classmethod
    def parse(cls, name: str, text: str) -> "Query":
        """Parse a query; its first line is ``# question in English? / 中文问题？``."""
        heading = re.fullmatch(r"#\s*(.+\?.*?)\s+/\s+(.+？.*?)\s*", text.partition("\n")[0])
        if not heading:
            raise UsageError(f"sparql/{name}.rq opens with its question: '# in English? / 中文？'")
        return cls(name, heading[1], heading[2], text)


def query_names() -> tuple[str, ...]:
    """List the named queries; those that look for faults are called ``qc/…-violation``."""
    folder = _folder()
    files = folder.rglob("*.rq")
    return tuple(sorted(str(file.relative_to(folder).with_suffix("")) for file in files))


@cache
def _read(name: str) -> Query:
    if name not in query_names():
        raise FormatError("query", name, query_names())
    return Query.parse(name, (_folder() / f"{name}.rq").read_text(encoding="utf-8"))


def _folder() -> Path:
    return artefact("sparql")


_VERB = re.compile(r"^\s*(SELECT|ASK|CONSTRUCT|DESCRIBE)\b", re.MULTILINE | re.IGNORECASE)
_SH = PREFIXES["sh"]


def discovery_quads() -> Iterator[Quad]:
    """Yield the prefixes and the named queries, by which agents find out what can be asked.

    Prefixes are declared as in SHACL (5.2.1); queries are ``sh:SPARQLExecutable``.
    """

    def says(node: NamedNode, predicate: str, value: Term) -> Quad:
        return Quad(node, NamedNode(predicate), value, DefaultGraph())

    service, uri = NamedNode(VOCAB.rstrip("#")), NamedNode(PREFIXES["xsd"] + "anyURI")
    for prefix, namespace in PREFIXES.items():
        node = resource(f"prefix-{prefix}")
        yield says(service, f"{_SH}declare", node)
        yield says(node, RDF.type.value, NamedNode(f"{_SH}PrefixDeclaration"))
        yield says(node, f"{_SH}prefix", Literal(prefix))
        yield says(node, f"{_SH}namespace", Literal(namespace, datatype=uri))
    for query in map(Query.named, (name for name in query_names() if "/" not in name)):
        if verb := _VERB.search(query.text):
            node = resource(f"query-{query.name}")
            yield says(node, RDF.type.value, NamedNode(f"{_SH}SPARQLExecutable"))
            kind = NamedNode(f"{_SH}SPARQL{verb[1].capitalize()}Executable")
            yield says(node, RDF.type.value, kind)
            yield says(node, f"{_SH}prefixes", service)
            yield says(node, RDFS.comment.value, Literal(query.question_en, language="en"))
            yield says(node, RDFS.comment.value, Literal(query.question_zh, language="zh"))
            yield says(node, f"{_SH}{verb[1].lower()}", Literal(query.text))


def quality_queries() -> dict[str, str]:
    """Return each quality query's text by its name, without ``-violation``.

    >>> "asserted" in quality_queries()
    True
    """
    results = {
        path.name.removesuffix("-violation.rq"): path.read_text(encoding="utf-8")
        for path in sorted(artefact("sparql/qc").glob("*-violation.rq"))
    }
    if not results:
        raise KnowledgeBaseError("no quality query was found in sparql/qc: the package is damaged")
    return results


def quality_faults(store: QuadStore) -> Iterator[str]:
    """Yield one sentence per fault: the question that failed and what it found."""
    for name, query in quality_queries().items():
        question = query.partition("\n")[0].removeprefix("#").partition(" / ")[0].strip()
        for row in store.select(query):
            result = ", ".join(f"{key} {local_name(text(term))}" for key, term in row.items())
            yield f"{name}: {question} Yes: {result}"
