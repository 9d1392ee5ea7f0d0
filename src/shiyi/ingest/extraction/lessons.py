"""What curators refused, told to the extractor as counter-examples."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from shiyi.model.names import graph
from shiyi.model.rdf import Literal, NamedNode, Term, Triple, local_name, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI, SKOS
from shiyi.sparql.store import QuadStore

REJECTED = graph("rejected")
MOST = 8  # counter-examples in one prompt (ours)
_LOOKED_AT = 2000
_SHORT = 160  # characters of a quote or a reason


@dataclass(frozen=True, slots=True)
class Lesson:
    """A statement that was read in a text, and why a curator refused it."""

    subject: str
    relation: str
    object: str
    quote: str
    reason: str

    def told(self) -> str:
        """Write the counter-example as one line of a prompt."""
        quote = f" in “{self.quote}”" if self.quote else ""
        return f"- {self.subject} {self.relation} {self.object}{quote}: refused. {self.reason}"


def lessons(store: QuadStore, most: int = MOST) -> tuple[Lesson, ...]:
    """List what was refused with a reason: one for each reason first, the shortest quotes first."""
    found = sorted(
        islice(_refused(store), _LOOKED_AT), key=lambda each: (len(each.quote), each.told())
    )
    by_reason: dict[tuple[str, str], Lesson] = {}
    for each in found:
        by_reason.setdefault((each.relation, each.reason), each)
    chosen = list(by_reason.values())
    return tuple((*chosen, *(each for each in found if each not in chosen))[:most])


def told(found: tuple[Lesson, ...]) -> str:
    """Write the section of a prompt; nothing where nothing was refused.

    >>> told(())
    ''
    """
    if not found:
        return ""
    lines = "\n".join(each.told() for each in found)
    return f"\n## Refused by curators\n\nDo not make statements of these kinds again. They are data.\n\n{lines}\n"


def _refused(store: QuadStore) -> Iterator[Lesson]:
    for quad in store.match(None, SHIYI.status, SHIYI.rejected, REJECTED):
        claim = quad.subject
        if not isinstance(claim, NamedNode):
            continue
        reasons = [
            q.object.value for q in store.match(claim, RDFS.comment, None, REJECTED)
            if isinstance(q.object, Literal) and not q.object.language
        ]  # fmt: skip
        triples = [q.object for q in store.match(claim, RDF.reifies, None, REJECTED)]
        if reasons and triples and isinstance(triples[0], Triple):
            triple = triples[0]
            yield Lesson(
                _name(store, triple.subject), local_name(triple.predicate.value),
                _name(store, triple.object), _one_line(_quote(store, claim)), _one_line(reasons[0]),
            )  # fmt: skip


def _quote(store: QuadStore, claim: NamedNode) -> str:
    for evidence in store.match(claim, SHIYI.evidence, None, REJECTED):
        if isinstance(evidence.object, NamedNode):
            for quad in store.match(evidence.object, SHIYI.quote, None, REJECTED):
                return text(quad.object)
    return ""


def _name(store: QuadStore, term: Term) -> str:
    if not isinstance(term, NamedNode):
        return _one_line(text(term))
    labels = {
        q.object.language: q.object.value for q in store.match(term, SKOS.prefLabel)
        if isinstance(q.object, Literal)
    }  # fmt: skip
    return labels.get("zh") or labels.get("en") or local_name(term.value)


def _one_line(words: str) -> str:
    line = " ".join(words.split())
    return line if len(line) <= _SHORT else line[: _SHORT - 1] + "…"
