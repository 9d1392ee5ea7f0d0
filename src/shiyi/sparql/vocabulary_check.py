"""Does a query ask in the words of the vocabulary, along its properties and not against them?"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.model.names import ID as RESOURCE
from shiyi.model.names import VOCAB
from shiyi.ontology.terms import PREFIXES, SHIYI
from shiyi.ontology.vocabulary import Property, Schema
from shiyi.sparql.patterns import Pattern

Classes = frozenset[str]
_MOST: Final = 6  # faults told at once
_INNER: Final = ("claim/", "evidence/", "source/", "passage/", "graph/", "scheme-")


@dataclass(frozen=True, slots=True)
class VocabularyCheck:
    """Holds triple patterns against classes, properties and the things that exist.

    ``class_of`` gives the class of a resource by its IRI, or nothing where there is none.
    """

    schema: Schema
    class_of: Callable[[str], str | None]

    def faults(self, patterns: Iterable[Pattern]) -> list[str]:
        """Say what is wrong, each with what to write instead; empty where nothing is."""
        listed = list(patterns)
        found = [fault for each in listed for fault in self._words(each)]
        found = found or self._directions(listed)
        return list(dict.fromkeys(found))[:_MOST]

    def _words(self, pattern: Pattern) -> list[str]:
        found = []
        if not pattern.predicate.startswith("?"):
            found += self._property(pattern.predicate)
        if pattern.is_type and pattern.object.startswith(VOCAB):
            name = pattern.object.removeprefix(VOCAB)
            if name not in self.schema.parents and name not in SHIYI.names():
                found.append(_unknown("class", name, self.schema.parents))
        for term in (pattern.subject, pattern.object):
            name = term.removeprefix(RESOURCE)
            inner = name.startswith(_INNER)
            if term.startswith(RESOURCE) and not inner and self.class_of(term) is None:
                found.append(f"id:{name} is not in the knowledge base; take IRIs from the list of things, "
                             "or look a name up by its skos:prefLabel")  # fmt: skip
        return found

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
        found = []
        for pattern, prop in joined:
            mine = self._allowed(pattern.subject, patterns, pattern)
            other = self._allowed(pattern.object, patterns, pattern)
            along = self._meets(mine, prop.domain) and self._meets(other, prop.range)
            against = self._meets(mine, prop.range) and self._meets(other, prop.domain)
            if along or prop.symmetric:
                continue
            ends = f"{_names(prop.domain)} to {_names(prop.range)}"
            if against:
                found.append(f"shiyi:{prop.name} runs from {ends}: write {_said(pattern.object)} "
                             f"shiyi:{prop.name} {_said(pattern.subject)}")  # fmt: skip
            else:
                found.append(f"shiyi:{prop.name} runs from {ends}, and {_said(pattern.subject)} or "
                             f"{_said(pattern.object)} is something else")  # fmt: skip
        return found

    def _object_property(self, pattern: Pattern) -> Property | None:
        known = self.schema.properties.get(pattern.predicate.removeprefix(VOCAB))
        return known if known and known.is_object and pattern.predicate.startswith(VOCAB) else None

    def _allowed(self, term: str, patterns: list[Pattern], but: Pattern) -> list[Classes]:
        """List what is said of a term elsewhere: each entry is a choice of classes."""
        if not term.startswith("?"):
            known = self.class_of(term) if term.startswith(RESOURCE) else None
            return [frozenset({known})] if known else []
        found: list[Classes] = []
        for each in patterns:
            if each == but:
                continue
            if each.is_type and each.subject == term and each.object.startswith(VOCAB):
                found.append(frozenset({each.object.removeprefix(VOCAB)}))
            elif prop := self._object_property(each):
                found += [prop.domain] if each.subject == term and prop.domain else []
                found += [prop.range] if each.object == term and prop.range else []
        return found

    def _meets(self, said: list[Classes], wanted: Classes) -> bool:
        """Tell whether one thing can be all that is said of it, and one of ``wanted``."""
        asked = [*said, wanted] if wanted else said
        return not asked or any(
            all(self.schema.superclasses(name) & each for each in asked)
            for name in self.schema.parents
        )


def _unknown(kind: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 3, 0.5)
    instead = f"; near it are {', '.join(f'shiyi:{each}' for each in near)}" if near else ""
    return f"shiyi:{name[:60]} is no {kind} of the vocabulary{instead}"


def _names(classes: Classes) -> str:
    return " or ".join(sorted(classes)) or "anything"


def _said(term: str) -> str:
    if term.startswith(RESOURCE):
        return "id:" + term.removeprefix(RESOURCE)
    return "that node" if term.startswith(("?.", "?_")) else term
