"""Entries, formulas and dishes of old books to claims: names linked, quotes in their passages.

A term without a concept of today gets its own, so that no statement is lost or changed.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from operator import itemgetter

from shiyi.ingest.datasets.lexicon import CONDITIONS, PREPARED, Lexicon
from shiyi.ingest.documents.books import Book, books
from shiyi.ingest.documents.document import Document, Passage
from shiyi.ingest.extraction.books import statement as kinds
from shiyi.ingest.extraction.books.clauses import clean
from shiyi.ingest.extraction.books.entry import read_entry
from shiyi.ingest.extraction.books.patterns import pattern, synonyms
from shiyi.ingest.extraction.books.recipes import Recipe, read_recipes
from shiyi.ingest.extraction.books.statement import BookStatement
from shiyi.ingest.extraction.books.vocabulary import Phrase, load_named_parts, materials, today
from shiyi.ingest.extraction.extractor import ExtractedStatement, Extraction
from shiyi.model.claim import Polarity, Tier
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import Literal, NamedNode, Object, Quad
from shiyi.ontology.lexicon import rows
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.settings import IngestSettings

_SCHEMES = {
    kinds.NATURE: ("Nature",), kinds.FLAVOUR: ("Flavour",), kinds.TOXICITY: ("ToxicityLevel",),
}  # fmt: skip
_USES = frozenset({kinds.EFFICACY, kinds.RELIEVES})
_PROPERTIES = frozenset({*_SCHEMES, kinds.CHANNEL})
_PAIRS = ("opposes", "fears")
_BLANK = re.compile(r"\s")
_NAMED = 2  # characters of the shortest name that is looked for within an object
_OPENING = 200  # characters
_LONGEST_ENTRY = 20_000  # characters; a longer section is a chapter
_OTHER_GENRES = frozenset({"formulary", "clinical", "nurture"})  # that have entries now and then
_RECIPE_GENRES = frozenset({"formulary", "recipes", "diet"})
_LONGEST_METHOD = 4  # characters of the name of a way of cooking
_REPORTED = 0.9  # how sure it is what a commentary says
SCHEME = resource("scheme-old-terms")

_Key = tuple[NamedNode, NamedNode, Object]


@dataclass(slots=True)
class _Section:
    """What the passages of a section yield."""

    passages: Sequence[Passage]
    document: Document
    claims: list[dict[_Key, ExtractedStatement]]
    unlinked: list[Counter[str]]
    quads: dict[Quad, None] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    squeezed: dict[int, tuple[str, list[int]]] = field(default_factory=dict)

    def add(
        self,
        subject: NamedNode,
        predicate: NamedNode,
        value: Object,
        span: tuple[int, int],
        sure: float = 1.0,
        amount: str = "",
    ) -> None:
        """Add a claim with ``span`` of the book as its quote; one with no place is counted."""
        number = self.passage_of(*span)
        place = self._place(number, *span) if number is not None else None
        if number is None or place is None or value == subject:
            self.unlinked[number or 0]["no place"] += 1
            return
        amounts = (("amount", amount),) if amount else ()
        claim = ExtractedStatement(
            subject, predicate, value, *place, Polarity.POSITIVE, sure, amounts, span
        )
        self.claims[number].setdefault((subject, predicate, value), claim)

    def passage_of(self, start: int, end: int) -> int | None:
        """Return the number of the passage that a span lies in."""
        for number, passage in enumerate(self.passages):
            if passage.start <= start and end <= passage.end:
                return number
        return None

    def _place(self, number: int, start: int, end: int) -> tuple[int, int] | None:
        """Return where a quote stands in its passage, with lines joined and faults repaired."""
        passage = self.passages[number]
        if number not in self.squeezed:
            places = [i for i, char in enumerate(passage.text) if not char.isspace()]
            self.squeezed[number] = "".join(passage.text[i] for i in places), places
        text, places = self.squeezed[number]
        quote = self.document.text[start:end]
        for repair in self.document.repairs:
            quote = quote.replace(repair.wrong, repair.right)
        bare = _BLANK.sub("", quote)
        expected = len(_BLANK.sub("", self.document.text[passage.start : start]))
        after = text.find(bare, expected)
        before = text.rfind(bare, 0, expected + len(bare))
        hits = [at for at in (before, after) if at >= 0]
        if not hits:
            return None
        best = min(hits, key=lambda at: abs(at - expected))
        return places[best], places[best + len(bare) - 1] + 1

    def results(self) -> list[Extraction]:
        """Return the extraction of each passage; new concepts stand with the first."""
        found = [
            Extraction(tuple(claims.values()), unlinked)
            for claims, unlinked in zip(self.claims, self.unlinked, strict=True)
        ]
        first = found[0]
        found[0] = Extraction(first.found, first.unlinked, tuple(self.quads), classes=self.classes)
        return found


class EntryExtractor:
    """Reads entries of materia medica, formulas and dishes under their titles."""

    name = "rules"
    version = "12"
    by_model = False

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._channels = {row[0]: row[1] for row in rows("channels")}
        self._unclear = {title for title, _ in rows("unclear-titles")}

    def trust(self, settings: IngestSettings) -> float:
        """Return ``ingest.rules``."""
        return settings.rules

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read each section as a whole; a claim belongs to the passage that its quote is in."""
        results: list[Extraction] = []
        numbers = accumulate(passage.first for passage in passages)  # of sections, titles may recur
        before: tuple[str, ...] = ()
        for _, section in groupby(zip(numbers, passages, strict=True), key=itemgetter(0)):
            of_section = [each for _, each in section]
            path = of_section[0].section.path
            named = "" if path == before else path[-1]  # else a recipe has lost its own title
            results += self._read_section(of_section, document, place, named)
            before = path
        return results

    def _read_section(
        self, passages: list[Passage], document: Document, place: NamedNode, named: str
    ) -> list[Extraction]:
        path = passages[0].section.path
        title = strip_title(path[-1])
        start, raw = passages[0].start, document.text[passages[0].start : passages[-1].end]
        found = _Section(passages, document, [{} for _ in passages], [Counter() for _ in passages])
        book = books().get(document.name)
        classic = document.source.tier is Tier.CLASSIC
        names = _Names(self._lexicon, classic, self._unclear, found, place)
        if document.language != "zh" or not passages[0].first or len(raw) > _LONGEST_ENTRY:
            return found.results()
        bounds = start, passages[-1].end
        has_recipes = book is not None and book.genre in _RECIPE_GENRES
        recipes = list(read_recipes(document.text, named, *bounds)) if has_recipes else []
        for recipe in recipes:
            self._recipe(recipe, names, book)
        if not recipes and self._is_entry(book, path, title, raw):
            if title not in materials():
                title = _inner_title(raw) or title
            self._entry(raw, title, start, names)
        return found.results()

    def _is_entry(self, book: Book | None, path: tuple[str, ...], title: str, raw: str) -> bool:
        """Return whether a section is an entry: by the table of books, else by how it opens."""
        if len(title) == 1 and pattern("amounts").search(raw[:_OPENING]):
            return False  # a recipe with all of its title lost but one character
        if book is not None and book.entries and re.search(book.entries, "\\".join(path)):
            return not pattern("preface").match(title) or pattern("set-off").search(raw) is not None
        if book is None:
            return True
        known = book.genre in _OTHER_GENRES and self._lexicon.material(title) is not None
        return known and pattern("opens-so").match(raw) is not None

    def _entry(self, raw: str, title: str, start: int, names: "_Names") -> None:
        section, subject = names.found, names.subject(title)
        title_is_recipe = subject is not None and names.material(title) is None
        if subject is not None:
            self._aliases(raw, start, subject, names)
        for statement in read_entry(raw, title, start):
            about = names.part(title, statement.part) if statement.part else subject
            if title_is_recipe and statement.relation in _PROPERTIES and not statement.part:
                continue  # of a formula what it is for is stated, and whom it harms
            if about is None or statement.combined:
                number = section.passage_of(statement.start, statement.end) or 0
                reason = "with another drug" if statement.combined else "of no known name"
                section.unlinked[number][reason] += 1
                continue
            sure = _REPORTED if statement.reported else 1.0
            for predicate, value in self._link_parts(statement, names):
                section.add(about, predicate, value, (statement.start, statement.end), sure)

    def _aliases(self, raw: str, start: int, subject: NamedNode, names: "_Names") -> None:
        """Read other names of the subject, before anything else is spoken of."""
        for sentence in pattern("aliases").finditer(raw, 0, names.found.passages[0].end - start):
            apart = pattern("set-off").search(raw, 0, sentence.start())
            if apart or pattern("entry-of").search(raw, 0, sentence.start()):
                return
            for match in pattern("alias").finditer(raw, sentence.start(), sentence.end()):
                if names.is_known(match["name"]):
                    return  # what follows is of that thing
                value = Literal(match["name"], language="zh")
                span = start + match.start("name"), start + match.end("name")
                names.found.add(subject, SKOS.altLabel, value, span)

    def _recipe(self, recipe: Recipe, names: "_Names", book: Book | None) -> None:
        is_dish = book is not None and book.genre != "formulary"
        subject = names.recipe(recipe, is_dish)
        if is_dish and (method := self._method(names.found.document.text, *recipe.method)):
            names.found.add(subject, SHIYI.preparedBy, *method)
        for each in recipe.ingredients:
            if material := names.material(each.name):
                span = each.start, each.end
                names.found.add(subject, SHIYI.hasIngredient, material, span, amount=each.amount)
        for use in recipe.uses:
            relation = kinds.EFFICACY if use.kind is Phrase.ACTION else kinds.RELIEVES
            for predicate, value in self._uses(use.words, relation, names):
                names.found.add(subject, predicate, value, (use.start, use.end))

    def _method(self, text: str, start: int, end: int) -> tuple[NamedNode, tuple[int, int]] | None:
        """Return the last way of cooking that a dish's method names, and its place."""
        for last in range(end, max(start, 0), -1):
            for first in range(max(start, last - _LONGEST_METHOD), last):
                if method := self._lexicon.find(text[first:last], ("Method",)):
                    return method, (first, last)
        return None

    def _link_parts(
        self, statement: BookStatement, names: "_Names"
    ) -> Iterator[tuple[NamedNode, NamedNode]]:
        """Yield the relations and concepts that a statement says of its subject."""
        if statement.relation in _USES:
            yield from self._uses(statement.object, statement.relation, names)
            return
        relation = statement.relation
        quote = names.found.document.text[statement.start : statement.end]
        if relation == kinds.INCOMPATIBLE:
            relation = next((r for r in _PAIRS if pattern(r).search(quote)), relation)
        elif relation == kinds.CONTRAINDICATED and not pattern("forbids").search(quote):
            relation = kinds.CAUTION  # unsuitable, but not forbidden
        predicate: NamedNode = getattr(SHIYI, relation)
        for value in self._objects(statement, names):
            yield predicate, value

    def _objects(self, statement: BookStatement, names: "_Names") -> Iterator[NamedNode]:
        words = statement.object
        nodes: list[NamedNode | None] = []
        if statement.relation in _SCHEMES:
            schemes = _SCHEMES[statement.relation]
            bare = pattern("slightly").sub("", words)
            nodes = [self._lexicon.find(words, schemes) or self._lexicon.find(bare, schemes)]
        elif statement.relation == kinds.CHANNEL:
            nodes = [self._lexicon.find(name, ("Meridian",)) for name in self._organs(words)]
        elif statement.relation == kinds.INCOMPATIBLE:
            nodes = [names.material(words)]
        else:
            known = synonyms().get(words, words)
            person = self._lexicon.find(known, ("Population", "Constitution"))
            condition = person or self._lexicon.condition(known, CONDITIONS)
            if pattern("eating").fullmatch(words):
                condition = None  # how much or in what way it is taken
            nodes = [condition or names.term(words, "Condition")]
        yield from filter(None, nodes)

    def _organs(self, words: str) -> Iterator[str]:
        """Yield the organs of a channel, which stand by themselves or by limb and stage."""
        if organ := self._channels.get(words[:3]):
            yield organ
        elif pattern("both-limbs").match(words):
            yield from filter(None, (self._channels.get(words[i] + words[2:4]) for i in (0, 1)))
        else:
            yield words

    def _uses(
        self, words: str, relation: str, names: "_Names"
    ) -> Iterator[tuple[NamedNode, NamedNode]]:
        """Yield what whole words mean, else the names they consist of, else the words as a term."""
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
                break
        if at == len(words):
            yield from uses
        elif relation == kinds.EFFICACY:
            yield SHIYI.hasEfficacy, names.term(words, "Efficacy")
        else:
            yield SHIYI.indicatedFor, names.term(words, "Symptom")

    def _use(self, words: str) -> tuple[NamedNode, NamedNode] | None:
        words = pattern("long-taken").sub("", words)
        words = synonyms().get(words, words)
        if efficacy := self._lexicon.find(words, ("Efficacy",)):
            return SHIYI.hasEfficacy, efficacy
        bare = pattern("verb-before").sub("", words)
        bare = synonyms().get(bare, bare)
        # what ends so is a pattern; other names of patterns are signs as often
        wanted = [
            kind for kind in CONDITIONS if kind != "Syndrome" or pattern("syndrome").search(bare)
        ]
        condition = self._lexicon.condition(bare, wanted)
        return (SHIYI.indicatedFor, condition) if condition else None


def strip_title(title: str) -> str:
    """Return a section's title without its number, marks and notes."""
    return clean(pattern("title").sub("", pattern("title").sub("", title.strip())).strip())


def _name_of_part(title: str, part: str) -> str:
    """Return the name of a part of what a title names by another part: 虎骨 and 肉 give 虎肉."""
    own = pattern("title-part").search(title)
    stem = title[: own.start()] if own else ""
    if own and pattern("of-animal").search(title) and (animal := pattern("animal").search(title)):
        stem = title[: animal.end()]
    known = stem and (stem in materials() or pattern("animal").fullmatch(stem))
    return f"{stem}{part}" if known or f"{stem}{part}" in materials() else f"{title}{part}"


def _inner_title(raw: str) -> str:
    """Return the material that a section opens with under the title of a chapter."""
    match = pattern("inner-title").search(raw[:_HEAD])
    name = match["name"] if match else ""
    return next((name[at:] for at in range(len(name) - 1) if name[at:] in materials()), "")


_HEAD = 80  # characters


@dataclass(slots=True)
class _Names:
    """Names in a section to concepts of today, or to terms as old books have them."""

    lexicon: Lexicon
    classic: bool
    unclear: set[str]
    found: _Section
    place: NamedNode

    def is_known(self, words: str) -> bool:
        """Return whether anything at all bears this name."""
        return self.lexicon.is_known(words) or words in materials()

    def subject(self, title: str) -> NamedNode | None:
        """Return what an entry is about."""
        return self.material(title) or self.lexicon.find(title, PREPARED)

    def material(self, words: str) -> NamedNode | None:
        """Return the material of a name: of today, else one that only old books name."""
        name = today().get(words, words)
        if self.classic and (words in self.unclear or name in self.unclear):
            return None
        if node := self.lexicon.material(name):
            fresh = pattern("fresh")
            if fresh.match(self.lexicon.name(node)) and not fresh.match(words):
                return self._make_node(
                    "material", name, "Herb"
                )  # the book does not say that it is fresh
            return node
        if name not in materials() or self.lexicon.is_known(name):
            return None
        return self._make_node("material", name, "Herb")

    def part(self, title: str, part: str) -> NamedNode | None:
        """Return the material that a part is: by its own name, or by that of the whole before."""
        bare = pattern("part-lead").sub("", clean(part))
        if not pattern("_part-end").fullmatch(bare):
            return self.material(bare)
        whole = self.subject(title)
        if whole is None and title not in self.unclear and pattern("animal").fullmatch(title):
            return self.material(title + bare)  # an animal is no material, its parts are
        if whole is None or (self.classic and title + bare in self.unclear):
            return None
        if bare in load_named_parts().get(self.lexicon.name(whole), ()) or title.endswith(bare):
            return whole
        if pattern("of-animal").search(title) and pattern("plant-part").match(bare):
            return None
        name = _name_of_part(title, bare)
        return self.lexicon.material(name) or self._make_node("material", name, "Herb")

    def term(self, words: str, kind: str) -> NamedNode:
        """Return the concept of a complaint, an action or a state as old books have it."""
        return self._make_node("term", words, kind)

    def recipe(self, recipe: Recipe, is_dish: bool) -> NamedNode:
        """Return the concept of a recipe: those of one name and the same materials are one."""
        parts = sorted(ingredient.name for ingredient in recipe.ingredients)
        kind = "Dish" if is_dish else "Formula"
        return self._make_node("recipe", recipe.name, kind, *parts)

    def _make_node(self, sort: str, words: str, kind: str, *parts: str) -> NamedNode:
        node = resource(f"old-{sort}-{content_hash(kind, words, *parts)[:16]}")
        if node.value not in self.found.classes:
            self.found.classes[node.value] = kind
            for predicate, value in (
                (RDF.type, getattr(SHIYI, kind)),
                (RDF.type, SKOS.Concept),
                (SKOS.prefLabel, Literal(words, language="zh")),
                (SKOS.inScheme, SCHEME),
            ):
                self.found.quads[Quad(node, predicate, value, self.place)] = None
        return node
