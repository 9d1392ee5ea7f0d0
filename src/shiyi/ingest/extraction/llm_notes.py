"""What a model wrote of a passage as typed resources in the graph of its source.

Summaries, questions with answers and descriptions are for search; none is ever cited.
"""

from collections.abc import Iterable, Iterator, Sequence

from shiyi.ingest.extraction.llm_forms import Notes, Statement
from shiyi.ingest.extraction.port import Extracted
from shiyi.ingest.extraction.statements import Reader, Refusal
from shiyi.ingest.text.document import Document, Passage
from shiyi.model.claim import Claim, Evidence
from shiyi.model.confidence import Confidence
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Quad
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI


def note_quads(
    notes: Notes, passage: Passage, document: Document, place: NamedNode, reader: Reader
) -> Iterator[Quad]:
    """Yield summary, questions with answers, and described entities of a passage."""
    language, text = document.language, NamedNode(passage.iri)

    def made(kind: NamedNode, *content: str) -> tuple[NamedNode, Iterator[Quad]]:
        node = resource(f"note/{content_hash(passage.iri, kind.value, *content)}")
        start = (Quad(node, RDF.type, kind, place), Quad(node, PROV.wasDerivedFrom, text, place))
        return node, iter(start)

    node, start = made(SHIYI.PassageSummary, notes.summary)
    yield from start
    yield Quad(node, RDF.value, Literal(notes.summary, language=language), place)
    for pair in notes.questions:
        node, start = made(SHIYI.QuestionAnswer, pair.question, pair.answer)
        yield from start
        yield Quad(node, RDFS.label, Literal(pair.question, language=language), place)
        yield Quad(node, SHIYI.answerText, Literal(pair.answer, language=language), place)
    classes = frozenset(reader.relations.schema.parents)
    for entity in notes.entities:
        node, start = made(SHIYI.EntityDescription, entity.name, entity.description)
        yield from start
        yield Quad(node, RDFS.label, Literal(entity.name, language=language), place)
        yield Quad(node, SHIYI.entityLayer, Literal(entity.layer), place)
        if entity.description:
            yield Quad(node, RDF.value, Literal(entity.description, language=language), place)
        wanted = frozenset({entity.type}) if entity.type in classes else classes
        if concept := reader.find(entity.name, reader.relations.kinds(wanted)):
            yield Quad(node, SHIYI.describes, concept, place)


def claim_notes(
    made: Sequence[tuple[Statement, Extracted]], passage: Passage, document: Document,
    place: NamedNode,
) -> Iterator[Quad]:  # fmt: skip
    """Yield what the passage says of the relation that each claim states."""
    for statement, read in made:
        if not statement.description:
            continue
        evidence = (Evidence(document.source, Confidence(1.0)),)  # its IRI needs none
        claim = Claim(read.subject, read.predicate, read.object, evidence, read.polarity)
        said = statement.description
        node = resource(f"note/{content_hash(passage.iri, claim.iri.value, said)}")
        yield Quad(node, RDF.type, SHIYI.RelationDescription, place)
        yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
        yield Quad(node, SHIYI.describes, claim.iri, place)
        yield Quad(node, RDF.value, Literal(said, language=document.language), place)


def refused_quads(refused: Iterable[Refusal], passage: Passage, place: NamedNode) -> Iterator[Quad]:
    """Yield each statement that no claim was made of, as it was written, and why."""
    for each in refused:
        said = each.statement.model_dump_json()
        node = resource(f"refused/{content_hash(passage.iri, said, each.reason)}")
        yield Quad(node, RDF.type, SHIYI.RefusedStatement, place)
        yield Quad(node, PROV.wasDerivedFrom, NamedNode(passage.iri), place)
        yield Quad(node, RDF.value, Literal(said), place)
        yield Quad(node, RDFS.comment, Literal(each.reason, language="en"), place)
