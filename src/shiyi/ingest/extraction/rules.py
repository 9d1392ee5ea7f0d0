"""The ``rules`` extractor: entries of materia medica and formula books, without a model."""

from collections import Counter
from collections.abc import Iterator, Sequence

from shiyi.ingest.extraction import patterns
from shiyi.ingest.extraction.lexicon import CONDITIONS, PREPARED, WESTERN, Lexicon
from shiyi.ingest.extraction.patterns import Item
from shiyi.ingest.extraction.port import Extracted, Extraction
from shiyi.ingest.extraction.zone import DOSED, UNCLEAR, bare_title, hide_brackets, zone_end
from shiyi.ingest.text.document import Document, Passage
from shiyi.model.claim import Source, Tier
from shiyi.model.rdf import Literal, NamedNode, Object, local_name
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.settings import IngestSettings

_SCHEMES = {
    "hasNature": ("Nature",), "hasFlavour": ("Flavour",), "hasToxicity": ("ToxicityLevel",),
    "hasMeridianTropism": ("Meridian",), "hasEfficacy": ("Efficacy",),
}  # fmt: skip
_PAIRS = frozenset({"opposes", "fears", "incompatibleWith"})
_ADVICE = frozenset({"contraindicatedIn", "cautionIn"})


class RulesExtractor:
    """Reads the passage that opens a section whose title is the name of a material or formula.

    What follows later in a section speaks of recipes, parts and other things too often.
    """

    name = "rules"
    version = "3"
    by_model = False

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def trust(self, settings: IngestSettings) -> float:
        """Give ``ingest.rules``."""
        return settings.rules

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read each passage by itself; nothing but claims comes of it."""
        return [self.extract(each, document.source) for each in passages]

    def extract(self, passage: Passage, source: Source) -> Extraction:
        """Give what the entry states of its title; each quote is verbatim."""
        if not passage.first:
            return Extraction()
        title = bare_title(passage.section.title)
        classic = source.tier is Tier.CLASSIC
        if classic and title in UNCLEAR:
            return Extraction(unlinked=Counter({"unclear title": 1}))
        material = self._lexicon.material(title)
        if material and len(title) == 1 and DOSED.search(passage.text):
            return Extraction(unlinked=Counter({"unclear title": 1}))  # a recipe's, cut short
        subject = material or self._lexicon.find(title, PREPARED)
        if subject is None:
            return Extraction()
        found: dict[tuple[NamedNode, Object], Extracted] = {}
        unlinked: Counter[str] = Counter()
        conditions = CONDITIONS if classic else (*CONDITIONS, *WESTERN)
        items = _items(passage.text, title, is_material=material is not None)
        mixed = False
        for item in items:
            mixed = mixed or self._names_another(item, subject)
            if mixed and item.relation == "altLabel":
                unlinked[item.relation] += 1
                continue
            if self._is_of_another(passage.text, item, subject):
                unlinked["said of another"] += 1
                continue
            meant = self._meant(item, subject, conditions)
            if meant is None:
                unlinked[item.relation] += 1
                continue
            predicate, said = meant
            if said != subject:
                found.setdefault(
                    (predicate, said), Extracted(subject, predicate, said, item.start, item.end)
                )
        return Extraction(tuple(found.values()), unlinked)

    def _is_of_another(self, text: str, item: Item, subject: NamedNode) -> bool:
        """Tell whether the sentence begins with the name of another material: 乌骨鸡得水中之精气，味甘.

        Not of pairs, which follow a helper: 半夏为之使，恶皂荚.
        """
        if item.relation in _PAIRS:
            return False
        begun = max(text.rfind(mark, 0, item.start) for mark in "。；\n") + 1
        names = (text[begun : begun + size] for size in (4, 3, 2) if begun + size <= item.start)
        other = next(filter(None, map(self._lexicon.material, names)), None)
        return other is not None and other != subject

    def _names_another(self, item: Item, subject: NamedNode) -> bool:
        """Tell whether an alias is the name of another material: of it speaks what follows."""
        other = self._lexicon.material(item.word) if item.relation == "altLabel" else None
        return other is not None and other != subject

    def _meant(
        self, item: Item, subject: NamedNode, conditions: Sequence[str]
    ) -> tuple[NamedNode, Object] | None:
        relation, word = item.relation, item.word
        if relation == "altLabel":
            known = self._lexicon.is_known(word)
            return None if known else (SKOS.altLabel, Literal(word, language="zh"))
        if relation == "consumptionMethod":
            return SHIYI.consumptionMethod, Literal(word, language="zh")
        if relation == "use":
            return self._use(word, conditions)
        return _with(getattr(SHIYI, relation), self._object(relation, word, conditions))

    def _object(self, relation: str, word: str, conditions: Sequence[str]) -> NamedNode | None:
        if relation in _PAIRS:
            return None if word in UNCLEAR else self._lexicon.material(word)
        if relation in _ADVICE:
            person = self._lexicon.find(word, ("Population", "Constitution"))
            return person or self._lexicon.condition(word, conditions)
        return self._lexicon.find("甘" if word == "甜" else word, _SCHEMES[relation])

    def _use(self, word: str, conditions: Sequence[str]) -> tuple[NamedNode, Object] | None:
        if efficacy := self._lexicon.find(word, ("Efficacy",)):
            return SHIYI.hasEfficacy, efficacy
        bare = patterns.without_verb(word)
        # 腹满 and 湿热 are signs and causes as often as patterns, which end in 证
        if not bare.endswith("证"):
            conditions = [kind for kind in conditions if kind != "Syndrome"]
        return _with(SHIYI.indicatedFor, self._lexicon.condition(bare, conditions))


def _with(predicate: NamedNode, said: NamedNode | None) -> tuple[NamedNode, Object] | None:
    return (predicate, said) if said else None


def _items(text: str, title: str, is_material: bool) -> Iterator[Item]:
    """Yield every item of an entry; of a formula only its use, in the first sentence that says it."""
    shown = hide_brackets(text)
    zone = shown[: zone_end(shown, title)]
    if not is_material:
        yield from patterns.uses(zone, sentences=1)
        yield from patterns.forbidden(zone)
        return
    end = 0
    for item in patterns.properties(zone):
        yield item
        end = item.end
    if end:
        yield from patterns.efficacies(zone, end)
    yield from patterns.tropisms(zone)
    yield from patterns.uses(zone)
    yield from patterns.aliases(zone)
    yield from patterns.pairs(text[: len(zone)])
    yield from patterns.forbidden(zone)
    yield from patterns.methods(zone)


def relation_of(found: Extracted) -> str:
    """Name a statement's relation, for counting."""
    return local_name(found.predicate.value)
