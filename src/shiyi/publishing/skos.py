"""The concepts alone, for tools that read SKOS and no more."""

from collections.abc import Iterable, Iterator
from typing import Final

from shiyi.ontology.terms import DCTERMS, PREFIXES, RDF, RDFS
from shiyi.publishing.lines import split_line

_SKOS: Final = f"<{PREFIXES['skos']}".encode()
_KEPT: Final = tuple(
    str(each).encode()
    for each in (DCTERMS.title, DCTERMS.source, DCTERMS.license, DCTERMS.isReplacedBy, RDFS.comment)
)
_KINDS: Final = tuple(
    f"<{PREFIXES['skos']}{name}>".encode() for name in ("Concept", "ConceptScheme")
)
_TYPE: Final = str(RDF.type).encode()


def skos_lines(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Keep schemes and concepts with labels, notes, hierarchy and mappings; lines are sorted."""
    for lines_of_one in _by_subject(lines):
        if any(p == _TYPE and o in _KINDS for _, p, o, _ in map(split_line, lines_of_one)):
            for line in lines_of_one:
                _, predicate, said, _ = split_line(line)
                wanted = said in _KINDS if predicate == _TYPE else predicate.startswith(_SKOS)
                if wanted or predicate in _KEPT:
                    yield line


def _by_subject(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Gather the lines of each subject."""
    here: list[bytes] = []
    for line in lines:
        if here and line.partition(b" ")[0] != here[0].partition(b" ")[0]:
            yield here
            here = []
        here.append(line)
    if here:
        yield here
