"""Triple patterns checked against the vocabulary."""

import difflib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from shiyi.errors import QueryError
from shiyi.model.iris import ID as RESOURCE
from shiyi.model.iris import VOCAB
from shiyi.ontology.schema import Property, Schema
from shiyi.ontology.terms import PREFIXES, SHIYI

if TYPE_CHECKING:
    from rdflib.plugins.sparql.parserutils import CompValue


_TERM: Final = (
    r"(?:\?\w+|<[^<>\s]*>|[A-Za-z][\w-]*:[\w.%-]+|\"[^\"\n]*\"(?:@\w+)?|'[^'\n]*'(?:@\w+)?)"
)
_TRIPLE_TERM: Final = re.compile(rf"<<\(\s*({_TERM})\s+({_TERM})\s+({_TERM})\s*\)>>")
_OF_TRIPLES: Final = re.compile(r"\b(?:SUBJECT|PREDICATE|OBJECT|isTRIPLE)\s*\(", re.IGNORECASE)
_PROLOGUE: Final = re.compile(r"\b(?:PREFIX|BASE)\b\s*(\w[\w-]*)?:?\s*<[^<>]*>", re.IGNORECASE)
_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DEEP: Final = "the query is nested too deeply; write it flatter"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A part of a pattern: ``?variables``, IRIs, or a text in quotation marks.

    The ends are empty where a path leaves them open (alternatives, repetition, negation).
    """

    subject: str
    predicate: str
    object: str

    @property
    def is_type(self) -> bool:
        """Return whether it names a class."""
        return self.predicate == _TYPE


def list_patterns(query: str) -> tuple[Pattern, ...]:
    """List the triple patterns of a SELECT or ASK, those of triple terms and subqueries included.

    Prefixes of this project need no declaration. Raises :class:`QueryError` with the place of a
    fault; what the store's own parser thinks of the query stays its own business.

    >>> [p.object for p in list_patterns("SELECT * { ?f a shiyi:Food }")]
    ['https://w3id.org/shiyi/vocab#Food']
    """
    inner: list[str] = []

    def placeholder(found: re.Match[str]) -> str:
        inner.append(" ".join(found.groups()))
        return f"?triple_term_{len(inner)}"

    plain = _OF_TRIPLES.sub("STR(", _TRIPLE_TERM.sub(placeholder, query))
    if "<<" in plain or "{|" in plain:
        raise QueryError("name a claim as: ?claim rdf:reifies <<( ?s ?p ?o )>>")
    head = "".join(match[0] + "\n" for match in _PROLOGUE.finditer(query))
    texts = [plain, *(f"{head}SELECT * {{ {each} }}" for each in inner)]
    return tuple(pattern for text in texts for pattern in _Reader(*_parse_query(text)).read())


def _parse_query(text: str) -> tuple[Any, Mapping[str, str]]:
    from pyparsing import ParseBaseException
    from rdflib.plugins.sparql.parser import parseQuery

    try:
        prologue, body = parseQuery(text)
    except ParseBaseException as fault:
        line = text.splitlines()[fault.lineno - 1][:80] if text else ""
        raise QueryError(
            f"it cannot be parsed at line {fault.lineno}, column {fault.column}: {line}"
        ) from fault
    except RecursionError as fault:
        raise QueryError(_DEEP) from fault
    if body.name not in {"SelectQuery", "AskQuery"}:
        raise QueryError("write SELECT or ASK; nothing else is taken here")
    own = {str(item.prefix or ""): str(item.iri) for item in prologue if item.name == "PrefixDecl"}
    return body, PREFIXES | own


@dataclass(slots=True)
class _Reader:
    tree: Any
    prefixes: Mapping[str, str]
    fresh: Iterator[int] = field(default_factory=itertools.count)

    def read(self) -> list[Pattern]:
        return [pattern for block in self._blocks(self.tree) for pattern in self._triples(block)]

    def _blocks(self, node: Any) -> Iterator[Sequence[Any]]:
        from pyparsing import ParseResults
        from rdflib.plugins.sparql.parserutils import CompValue

        if isinstance(node, CompValue):
            if node.name == "TriplesBlock":
                yield from node.triples
                return
            for value in node.values():
                yield from self._blocks(value)
        elif isinstance(node, list | ParseResults):
            for item in node:
                yield from self._blocks(item)

    def _triples(self, flat: Sequence[Any]) -> Iterator[Pattern]:
        for subject, path, end in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            yield from self._path(self._term(subject), path, self._term(end))

    def _path(self, start: str, path: Any, end: str) -> Iterator[Pattern]:
        name = getattr(path, "name", "")
        if name in {"PathAlternative", "PathSequence"}:
            parts = list(path.part)
            if name == "PathAlternative" and len(parts) > 1:
                yield from self._open_path(path)
                return
            between = [f"?.{next(self.fresh)}" for _ in parts[1:]]
            for part, (here, there) in zip(
                parts, itertools.pairwise([start, *between, end]), strict=True
            ):
                yield from self._path(here, part, there)
        elif name == "PathEltOrInverse":
            yield from self._path(end, path.part, start)
        elif name == "PathElt" and not path.mod:
            yield from self._path(start, path.part, end)
        elif name in {"PathElt", "PathNegatedPropertySet"}:
            yield from self._open_path(path)
        else:
            yield Pattern(start, self._term(path), end)

    def _open_path(self, path: Any) -> Iterator[Pattern]:
        """Name the properties of a path with ends that no single one joins."""
        from pyparsing import ParseResults

        if isinstance(path, list | ParseResults):
            for item in path:
                yield from self._open_path(item)
        elif getattr(path, "name", "") in {"", "pname"}:
            if not isinstance(path, str) or ":" in path:
                yield Pattern("", self._term(path), "")
        else:
            yield from self._open_path(path.part)

    def _term(self, node: Any) -> str:
        from rdflib.term import BNode, Literal, Variable

        if isinstance(node, Variable):
            return f"?{node}"
        if isinstance(node, BNode):
            return f"?_{node}"
        if isinstance(node, Literal):
            return f'"{node}"'
        name = getattr(node, "name", "")
        if name == "pname":
            return self._full(node)
        if name == "literal":
            return f'"{node.string}"'
        return str(node) if not name else f"?{name}{next(self.fresh)}"

    def _full(self, node: "CompValue") -> str:
        prefix = str(node.prefix or "")
        if prefix not in self.prefixes:
            raise QueryError(f"the prefix {prefix}: is not declared")
        return self.prefixes[prefix] + str(node.localname or "")


Classes = frozenset[str]
_MOST: Final = 6  # faults reported at once
_INNER: Final = ("claim/", "evidence/", "source/", "passage/", "graph/", "scheme-")


@dataclass(frozen=True, slots=True)
class VocabularyCheck:
    """Compares triple patterns with classes, properties and the things that exist.

    ``class_of`` gives the class of a resource by its IRI, or nothing where there is none.
    """

    schema: Schema
    class_of: Callable[[str], str | None]

    def faults(self, patterns: Iterable[Pattern]) -> list[str]:
        """Return what is wrong, each with what to write instead; empty where nothing is."""
        listed_patterns = list(patterns)
        results = [fault for pattern in listed_patterns for fault in self._words(pattern)]
        results = results or self._directions(listed_patterns)
        return list(dict.fromkeys(results))[:_MOST]

    def _words(self, pattern: Pattern) -> list[str]:
        results = []
        if not pattern.predicate.startswith("?"):
            results += self._property(pattern.predicate)
        if pattern.is_type and pattern.object.startswith(VOCAB):
            name = pattern.object.removeprefix(VOCAB)
            if name not in self.schema.parents and name not in SHIYI.names():
                results.append(_unknown("class", name, self.schema.parents))
        for term in (pattern.subject, pattern.object):
            name = term.removeprefix(RESOURCE)
            inner = name.startswith(_INNER)
            if term.startswith(RESOURCE) and not inner and self.class_of(term) is None:
                results.append(
                    f"id:{name} is not in the knowledge base; take IRIs from the list of things, "
                    "or look a name up by its skos:prefLabel"
                )
        return results

    def _property(self, iri: str) -> list[str]:
        if iri.startswith(VOCAB):
            name = iri.removeprefix(VOCAB)
            known = name in self.schema.properties or name in SHIYI.names()
            return [] if known else [_unknown("property", name, self.schema.properties)]
        if any(iri.startswith(space) for space in PREFIXES.values()):
            return []
        return [f"<{iri}> is of no vocabulary that is used here"]

    def _directions(self, patterns: list[Pattern]) -> list[str]:
        """Find properties that run the other way than a pattern says."""
        joined = [(p, prop) for p in patterns if p.subject and (prop := self._object_property(p))]
        results = []
        for pattern, prop in joined:
            mine = self._allowed_classes(pattern.subject, patterns, pattern)
            other = self._allowed_classes(pattern.object, patterns, pattern)
            along = self._meets(mine, prop.domain) and self._meets(other, prop.range)
            against = self._meets(mine, prop.range) and self._meets(other, prop.domain)
            if along or prop.symmetric:
                continue
            ends = f"{_names(prop.domain)} to {_names(prop.range)}"
            if against:
                results.append(
                    f"shiyi:{prop.name} runs from {ends}: write {_format_term(pattern.object)} "
                    f"shiyi:{prop.name} {_format_term(pattern.subject)}"
                )
            else:
                results.append(
                    f"shiyi:{prop.name} runs from {ends}, and {_format_term(pattern.subject)} or "
                    f"{_format_term(pattern.object)} is something else"
                )
        return results

    def _object_property(self, pattern: Pattern) -> Property | None:
        known = self.schema.properties.get(pattern.predicate.removeprefix(VOCAB))
        return known if known and known.is_object and pattern.predicate.startswith(VOCAB) else None

    def _allowed_classes(self, term: str, patterns: list[Pattern], but: Pattern) -> list[Classes]:
        """List what other patterns require of a term: each entry is a choice of classes."""
        if not term.startswith("?"):
            known = self.class_of(term) if term.startswith(RESOURCE) else None
            return [frozenset({known})] if known else []
        results: list[Classes] = []
        for pattern in patterns:
            if pattern == but:
                continue
            if pattern.is_type and pattern.subject == term and pattern.object.startswith(VOCAB):
                name = pattern.object.removeprefix(VOCAB)
                if name in self.schema.parents:  # a defined class may have members of any other
                    results.append(frozenset({name}))
            elif prop := self._object_property(pattern):
                results += [prop.domain] if pattern.subject == term and prop.domain else []
                results += [prop.range] if pattern.object == term and prop.range else []
        return results

    def _meets(self, classes: list[Classes], wanted: Classes) -> bool:
        """Return whether one thing can meet all requirements and be one of ``wanted``."""
        asked = [*classes, wanted] if wanted else classes
        return not asked or any(
            all(self.schema.superclasses(name) & group for group in asked)
            for name in self.schema.parents
        )


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 3, 0.5)
    instead = f"; near it are {', '.join(f'shiyi:{each}' for each in near)}" if near else ""
    return f"shiyi:{name[:60]} is no {kind} of the vocabulary{instead}"


def _names(classes: Classes) -> str:
    return " or ".join(sorted(classes)) or "anything"


def _format_term(term: str) -> str:
    if term.startswith(RESOURCE):
        return "id:" + term.removeprefix(RESOURCE)
    return "that node" if term.startswith(("?.", "?_")) else term
