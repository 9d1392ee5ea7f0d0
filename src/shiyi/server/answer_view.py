"""An answer as its page shows it: chips for citations, chains for paths, cards for food."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from shiyi.model.answer import Answer, Citation
from shiyi.model.path import Path
from shiyi.model.rdf import NamedNode
from shiyi.server.drawing import Drawing, of_paths
from shiyi.server.links import href
from shiyi.server.markdown import Parts, parted, rendered
from shiyi.server.reading import Reader, Thing

_NEXT: Final = 3  # questions offered
_CITED: Final = """CONSTRUCT {{ ?thing ?property ?value }} WHERE {{
  VALUES ?claim {{ {claims} }}
  ?claim <https://w3id.org/shiyi/vocab#evidence>? ?thing . ?thing ?property ?value
}}"""
SEVERITIES = ("emergency", "contraindicated", "interaction", "caution")


@dataclass(frozen=True, slots=True)
class Link:
    """One hop of a chain: the node it reaches, and the claim it walked."""

    predicate: str
    forward: bool
    confidence: float
    claim: str
    reaches: Thing


@dataclass(frozen=True, slots=True)
class Chain:
    """A reasoning path as a row of chips."""

    score: float
    start: Thing
    links: tuple[Link, ...]

    @property
    def weakest(self) -> float:
        """Give the smallest confidence on the chain."""
        return min(link.confidence for link in self.links)


@dataclass(frozen=True, slots=True)
class Marked:
    """Something that rests on claims, with the numbers of those that are cited."""

    kind: str
    text: str
    href: str
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer with everything its page shows."""

    answer: Answer
    parts: Parts
    warnings: tuple[Marked, ...]
    recommendations: tuple[Marked, ...]
    chains: tuple[Chain, ...]
    drawing: Drawing
    milliseconds: int
    cited: str = ""  # a query for the claims cited and their evidence, as RDF
    next: tuple[str, ...] = ()  # what a reader may ask about next


def spo(citation: Citation) -> str:
    """Give a claim as one line of text."""
    no = " ✗" if citation.polarity == "negative" else ""
    parts = (citation.subject.label, citation.predicate.label + no, citation.object.label)
    return " · ".join(parts)


def answer_view(answer: Answer, reader: Reader, label: str, paths: str = "") -> AnswerView:
    """Prepare an answer for its page, labels in the answer's language."""
    numbers = {each.claim: each.number for each in answer.citations}

    def cited(claims: Iterable[str]) -> tuple[int, ...]:
        return tuple(sorted({numbers[claim] for claim in claims if claim in numbers}))

    ranked = sorted(
        answer.warnings,
        key=lambda each: SEVERITIES.index(each.severity) if each.severity in SEVERITIES else 9,
    )
    html = rendered(answer.text, {each.number: spo(each) for each in answer.citations}, label)
    return AnswerView(
        answer,
        parted(html, [*(each.text for each in ranked), *answer.follow_up, *answer.missing], paths),
        tuple(Marked(each.severity, each.text, "", cited(each.claims)) for each in ranked),
        tuple(
            Marked(each.kind, each.label, href(each.iri), cited(each.claims))
            for each in answer.recommendations
        ),
        tuple(_chain(path, reader) for path in answer.paths),
        of_paths(answer.paths, reader),
        round(sum(ms for _, ms in answer.trace.milliseconds)),
        _CITED.format(claims=" ".join(f"<{iri}>" for iri in numbers)) if numbers else "",
        _next(answer),
    )


def _next(answer: Answer) -> tuple[str, ...]:
    """Name what the answer recommends, else what it warns of, that the question did not name."""
    named = [each.label for each in answer.recommendations]
    named += [each.subject.label for each in answer.citations] if answer.warnings else []
    asked = answer.question.casefold()
    fresh = (each for each in dict.fromkeys(named) if each.casefold() not in asked)
    return tuple(fresh)[:_NEXT]


def _chain(path: Path, reader: Reader) -> Chain:
    links = tuple(
        Link(
            reader.thing(NamedNode(hop.predicate)).label, hop.forward, hop.confidence,
            href(hop.claim), reader.thing(NamedNode(hop.end)),
        )
        for hop in path.hops
    )  # fmt: skip
    return Chain(path.score, reader.thing(NamedNode(path.hops[0].start)), links)
