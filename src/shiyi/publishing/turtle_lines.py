"""Turtle and TriG of RDF 1.2, written from lines of N-Quads as they stand, without parsing them.

Four times faster than terms made and written one by one, which counts at millions of lines.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Final

from shiyi.ontology.terms import PREFIXES, RDF
from shiyi.publishing.lines import graph_of, split_line, subject_of

_TYPE: Final = str(RDF.type).encode()
_NAMES: Final = {iri: name for name, iri in PREFIXES.items()}
# the part of PN_LOCAL (Turtle 1.2, section 6.5) that needs no escape
_SHORT: Final = re.compile(r"<(.*[/#])([A-Za-z0-9_][A-Za-z0-9_-]*)>")
_TYPED: Final = re.compile(rb'(".*")\^\^(<[^>]*>)', re.DOTALL)


def turtle(lines: Iterable[bytes], prefixes: Mapping[str, str] = PREFIXES) -> Iterator[bytes]:
    """Write sorted lines of one graph as Turtle, a subject at a time."""
    yield _heading(prefixes)
    for subject, about in groupby(lines, key=subject_of):
        yield _block(subject, about)


def trig(lines: Iterable[bytes], prefixes: Mapping[str, str] = PREFIXES) -> Iterator[bytes]:
    """Write lines that stand together by graph, and sorted in each, as TriG."""
    yield _heading(prefixes)
    for graph, inside in groupby(lines, key=graph_of):
        if graph:
            yield _iri(graph) + b" {\n"
        for subject, about in groupby(inside, key=subject_of):
            yield _block(subject, about)
        if graph:
            yield b"}\n"


def _heading(prefixes: Mapping[str, str]) -> bytes:
    return "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in prefixes.items()).encode()


def _block(subject: bytes, about: Iterable[bytes]) -> bytes:
    said: dict[bytes, list[bytes]] = {}
    for line in about:
        _, predicate, rest = line.split(b" ", 2)
        term = split_line(line)[2] if graph_of(line) else rest[:-2]
        said.setdefault(predicate, []).append(_term(term))
    parts = b" ;\n\t".join(
        _verb(predicate) + b" " + b" , ".join(terms) for predicate, terms in said.items()
    )
    return _term(subject) + b" " + parts + b" .\n"


@lru_cache(4096)
def _verb(predicate: bytes) -> bytes:
    return b"a" if predicate == _TYPE else _iri(predicate)


def _term(term: bytes) -> bytes:
    if term.startswith(b"<<("):
        subject, predicate, said = term[4:-4].split(b" ", 2)
        return b"<<( %b %b %b )>>" % (_term(subject), _iri(predicate), _term(said))
    if term.startswith(b"<"):
        return _iri(term)
    if term.endswith(b">") and (typed := _TYPED.fullmatch(term)):
        return typed[1] + b"^^" + _iri(typed[2])
    return term


@lru_cache(65_536)  # classes, sources and relations are named very often
def _iri(written: bytes) -> bytes:
    found = _SHORT.fullmatch(written.decode())
    if found and (name := _NAMES.get(found[1])):
        return f"{name}:{found[2]}".encode()
    return written
