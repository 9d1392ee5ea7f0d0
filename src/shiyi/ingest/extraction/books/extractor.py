"""Entries of old books to claims: subjects and objects linked, quotes in their passages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from shiyi.ingest.datasets.lexicon import CONDITIONS, PREPARED, Lexicon
from shiyi.ingest.documents.document import Document, Passage
from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.clauses import clean
from shiyi.ingest.extraction.books.entry import read_entry
from shiyi.ingest.extraction.books.patterns import pattern, synonyms
from shiyi.ingest.extraction.books.statement import DENIED, BookStatement
from shiyi.ingest.extraction.extractor import ExtractedStatement, Extraction
from shiyi.ingest.extraction.rules import (
    RulesExtractor,
    bare_title,
    is_dosed,
    relation_of,
    unclear_titles,
    without_verb,
)
from shiyi.model.claim import Polarity
from shiyi.model.rdf import NamedNode, Object
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import SHIYI
from shiyi.settings import IngestSettings

_SCHEMES = {
    kinds.NATURE: ("Nature",), kinds.FLAVOUR: ("Flavour",), kinds.TOXICITY: ("ToxicityLevel",),
}  # fmt: skip
_USES = frozenset({kinds.EFFICACY, kinds.RELIEVES})
_TEXTS = frozenset({"altLabel", "consumptionMethod"})
_PAIRS = ("opposes", "fears")
_BLANK = re.compile(r"\s")
_NAMED = 2  # characters of the shortest name that is looked for within an object


_Key = tuple[NamedNode, NamedNode, Object, Polarity]


def _key(each: ExtractedStatement) -> _Key:
    return each.subject, each.predicate, each.object, each.polarity


class EntryExtractor:
    """Reads the entries of old books under names of materials or formulas, and their parts."""

    name = "rules"
    version = "4"
    by_model = False

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._rules = RulesExtractor(lexicon)  # other names, and how it is taken
        self._channels = {row[0]: row[1] for row in rows("channels")}

    def trust(self, settings: IngestSettings) -> float:
        """Return ``ingest.rules``."""
        return settings.rules

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read each section as a whole; a claim belongs to the passage that its quote is in."""
        results: list[Extraction] = []
        for _, section in groupby(passages, key=lambda each: each.section.iri):
            results += self._read_section(list(section), document)
        return results

    def _read_section(self, passages: list[Passage], document: Document) -> list[Extraction]:
        title = bare_title(passages[0].section.title)
        found: list[dict[_Key, ExtractedStatement]] = [{} for _ in passages]
        unlinked: list[Counter[str]] = [Counter() for _ in passages]
        subject = self._subject(title, passages[0])
        raw = document.text[passages[0].start : passages[-1].end]
        if subject is None and not pattern("set-off").search(raw):
            return [Extraction() for _ in passages]
        if subject is not None:
            named = self._rules.extract(passages[0], document.source).found
            found[0] |= {_key(each): each for each in named if relation_of(each) in _TEXTS}
        for each in read_entry(raw, title, passages[0].start):
            number = _passage_of(each, passages)
            about = self._of_part(title, each.part) if each.part else subject
            if number is None or about is None:
                continue
            if each.combined:
                unlinked[number]["with another drug"] += 1
                continue
            span = _span(each, passages[number], document)
            quote = document.text[each.start : each.end]
            linked = list(self._linked(each, quote)) if span else []
            if not linked or span is None:
                unlinked[number][each.relation] += 1
            for predicate, value in linked:
                polarity = Polarity.NEGATIVE if each.polarity == DENIED else Polarity.POSITIVE
                if span and value != about:
                    claim = ExtractedStatement(about, predicate, value, *span, polarity)
                    found[number].setdefault(_key(claim), claim)
        return [Extraction(tuple(f.values()), u) for f, u in zip(found, unlinked, strict=True)]

    def _subject(self, title: str, opening: Passage) -> NamedNode | None:
        """Return what a section is about; the rest of a section is about nothing by itself."""
        if not opening.first or title in unclear_titles():
            return None
        material = self._lexicon.material(title)
        if material is None:
            return self._lexicon.find(title, PREPARED)
        cut = len(title) == 1 and is_dosed(opening.text)  # the title of a recipe, cut short
        return None if cut else material

    def _of_part(self, title: str, part: str) -> NamedNode | None:
        """Return the material that a part is: by its own name, or by that of the whole before."""
        bare = pattern("part-lead").sub("", clean(part))
        names = [title + bare] if pattern("_part-end").fullmatch(bare) else [bare, title + bare]
        clear = [each for each in names if each not in unclear_titles()]
        return next(filter(None, map(self._lexicon.material, clear)), None)

    def _linked(self, each: BookStatement, quote: str) -> Iterator[tuple[NamedNode, NamedNode]]:
        """Yield the relations and concepts that a statement says of its subject."""
        if each.relation in _USES:
            yield from self._uses(each.object)
            return
        relation = each.relation
        if relation == kinds.INCOMPATIBLE:
            relation = next((r for r in _PAIRS if pattern(r).search(quote)), relation)
        predicate: NamedNode = getattr(SHIYI, relation)
        for value in self._objects(each):
            yield predicate, value

    def _objects(self, each: BookStatement) -> Iterator[NamedNode]:
        words = each.object
        found: list[NamedNode | None] = []
        if each.relation in _SCHEMES:
            found = [self._lexicon.find(words, _SCHEMES[each.relation])]
        elif each.relation == kinds.CHANNEL:
            found = [self._lexicon.find(name, ("Meridian",)) for name in self._organs(words)]
        elif each.relation == kinds.INCOMPATIBLE:
            found = [None if words in unclear_titles() else self._lexicon.material(words)]
        else:
            words = synonyms().get(words, words)
            person = self._lexicon.find(words, ("Population", "Constitution"))
            found = [person or self._lexicon.condition(words, CONDITIONS)]
        yield from filter(None, found)

    def _organs(self, words: str) -> Iterator[str]:
        """Yield the organs of a channel, which stand by themselves or by limb and stage."""
        if organ := self._channels.get(words[:3]):
            yield organ
        elif pattern("both-limbs").match(words):
            yield from filter(None, (self._channels.get(words[i] + words[2:4]) for i in (0, 1)))
        else:
            yield words

    def _uses(self, words: str) -> Iterator[tuple[NamedNode, NamedNode]]:
        """Yield what whole words mean, else what the names mean that they consist of."""
        if use := self._use(words):
            yield use
            return
        at, uses = 0, list[tuple[NamedNode, NamedNode]]()
        while at < len(words):
            for end in range(len(words), at + _NAMED - 1, -1):
                if use := self._use(words[at:end]):
                    uses.append(use)
                    at = end
                    break
            else:
                return
        yield from uses

    def _use(self, words: str) -> tuple[NamedNode, NamedNode] | None:
        words = pattern("long-taken").sub("", words)
        words = synonyms().get(words, words)
        if efficacy := self._lexicon.find(words, ("Efficacy",)):
            return SHIYI.hasEfficacy, efficacy
        bare = without_verb(words)
        bare = synonyms().get(bare, bare)
        # what ends so is a pattern; other names of patterns are signs as often
        wanted = [
            kind for kind in CONDITIONS if kind != "Syndrome" or pattern("syndrome").search(bare)
        ]
        condition = self._lexicon.condition(bare, wanted)
        return (SHIYI.indicatedFor, condition) if condition else None


def _passage_of(each: BookStatement, passages: Sequence[Passage]) -> int | None:
    for number, passage in enumerate(passages):
        if passage.start <= each.start and each.end <= passage.end:
            return number
    return None


def _span(each: BookStatement, passage: Passage, document: Document) -> tuple[int, int] | None:
    """Return where a quote stands in its passage, where lines are joined and faults repaired."""
    quote = document.text[each.start : each.end]
    for repair in document.repairs:
        quote = quote.replace(repair.wrong, repair.right)
    bare = _BLANK.sub("", quote)
    places = [i for i, char in enumerate(passage.text) if not char.isspace()]
    squeezed = "".join(passage.text[i] for i in places)
    expected = len(_BLANK.sub("", document.text[passage.start : each.start]))
    hits = [m.start() for m in re.finditer(re.escape(bare), squeezed)]
    if not hits:
        return None
    best = min(hits, key=lambda at: abs(at - expected))
    return places[best], places[best + len(bare) - 1] + 1
