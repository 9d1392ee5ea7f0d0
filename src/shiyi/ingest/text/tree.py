"""The macro tree of a document: book, chapters, sections, and passages at its leaves."""

from collections import Counter
from collections.abc import Iterator

from shiyi.ingest.text.document import Document, Heading, Passage, Section, Tree
from shiyi.ingest.text.repairing import repaired
from shiyi.ingest.text.splitting import split
from shiyi.model.names import ID, content_hash
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI


def tree_of(document: Document, least: int, most: int) -> Tree:
    """Cut a document into sections and passages; offsets count characters of its own text."""
    tree = Tree(document)
    sections: dict[tuple[str, ...], Section] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for heading, start, end in _bodies(document):
        path = _repaired_path(document, heading.path, tree.repaired)
        section = _section(document, path, sections, tree)
        body, first = document.text[start:end], True
        for here, there in split(body, document.language, least, most):
            raw = _said(body[here:there], document.skipped) if first else body[here:there]
            text = repaired(raw, document.repairs, document.language == "zh", tree.repaired)
            if not text:
                continue
            seen[section.iri, text] += 1
            name = content_hash(section.iri, text, str(seen[section.iri, text]))
            iri = f"{ID}passage/{name}"
            tree.passages.append(Passage(iri, section, start + here, start + there, text, first))
            first = False
    return tree


def pieces(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield the spans of headings, blanks and passages in order; they cover the whole text."""
    at = 0
    for passage in tree.passages:
        if at < passage.start:
            yield at, passage.start
        yield passage.start, passage.end
        at = passage.end
    if at < len(tree.document.text):
        yield at, len(tree.document.text)


def _bodies(document: Document) -> Iterator[tuple[Heading, int, int]]:
    root = Heading(0, 0, (document.source.title_zh,))
    headings = (root, *document.headings)
    following = [each.start for each in headings[1:]] + [len(document.text)]
    for heading, end in zip(headings, following, strict=True):
        yield heading, heading.end, end


def _repaired_path(
    document: Document, path: tuple[str, ...], counted: Counter[str]
) -> tuple[str, ...]:
    """Repair titles too; of a path only the last is counted, since the others were before."""
    above = (repaired(each, document.repairs, False, Counter()) for each in path[:-1])
    return (*above, repaired(path[-1], document.repairs, False, counted))


def _said(body: str, skipped: tuple[str, ...]) -> str:
    bare = body.lstrip()
    for mark in skipped:
        if bare.startswith(mark):
            return bare[len(mark) :]
    return body


def _section(
    document: Document, path: tuple[str, ...], known: dict[tuple[str, ...], Section], tree: Tree
) -> Section:
    if path in known:
        return known[path]
    parent = _section(document, path[:-1], known, tree).iri if len(path) > 1 else ""
    iri = f"{ID}section/{content_hash(document.source.id, document.name, *path)}"
    known[path] = Section(iri, path, parent)
    tree.sections.append(known[path])
    return known[path]


def section_quads(section: Section, document: Document, graph: NamedNode) -> Iterator[Quad]:
    """Yield a section, its title, and the section it stands in."""
    node = NamedNode(section.iri)
    yield Quad(node, RDF.type, SHIYI.Section, graph)
    yield Quad(node, RDFS.label, Literal(section.title, language=document.language), graph)
    if section.parent:
        yield Quad(node, SHIYI.partOfSection, NamedNode(section.parent), graph)
    else:
        yield Quad(node, PROV.wasDerivedFrom, document.source.iri, graph)


def passage_quads(passage: Passage, document: Document, graph: NamedNode) -> Iterator[Quad]:
    """Yield a passage: its words, section, source, and place (RFC 5147) in the source's text."""
    node = NamedNode(passage.iri)
    place = f"{document.name}#char={passage.start},{passage.end}"
    yield Quad(node, RDF.type, SHIYI.Passage, graph)
    yield Quad(node, RDF.value, Literal(passage.text, language=document.language), graph)
    yield Quad(node, SHIYI.partOfSection, NamedNode(passage.section.iri), graph)
    yield Quad(node, PROV.wasDerivedFrom, document.source.iri, graph)
    yield Quad(node, SHIYI.sourceLocator, Literal(place), graph)
