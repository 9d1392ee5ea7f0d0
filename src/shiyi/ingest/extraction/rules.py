"""Rule-based extraction of materia medica entries."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from shiyi.ingest.datasets.lexicon import CONDITIONS, PREPARED, WESTERN, Lexicon
from shiyi.ingest.documents.document import Document, Passage
from shiyi.ingest.extraction.extractor import ExtractedStatement, Extraction
from shiyi.model.claim import Source, Tier
from shiyi.model.rdf import Literal, NamedNode, Object, local_name
from shiyi.ontology.lexicon import Cues, rows, word_list
from shiyi.ontology.terms import SHIYI, SKOS
from shiyi.settings import IngestSettings

_CUES: Final = Cues("herbal-entries")

HIDDEN = "\ue000"  # private use: stands for what is in brackets, place by place
_BRACKETED = re.compile(r"[（(〔〈][^（）()〔〕〈〉]*[）)〕〉]")


@cache
def unclear_titles() -> frozenset[str]:
    """Return titles of classics that do not say which of today's materials is meant."""
    return frozenset(title for title, _ in rows("unclear-titles"))


def bare_title(title: str) -> str:
    """Return a section's title without its number and notes."""
    return _CUES["title"].sub("", _CUES["title"].sub("", title.strip())).strip()


def hide_brackets(text: str) -> str:
    """Blank out what stands in brackets, keeping every other place."""
    before = ""
    while text != before:
        before = text
        text = _BRACKETED.sub(lambda result: HIDDEN * len(result[0]), text)
    return text


def zone_end(text: str, title: str) -> int:
    """Return where an entry stops speaking of its subject; ``text`` has its brackets hidden."""
    match = _CUES["turns"].search(text)
    others = (
        each.start()
        for each in _CUES["other-entry"].finditer(text)
        if each["name"] not in title and title not in each["name"]
    )
    return min(match.start() if match else len(text), *others, len(text))


H = HIDDEN


class Item(NamedTuple):
    """A word that an entry states, in a relation, and the span that states it."""

    relation: str
    word: str
    start: int
    end: int


def properties(text: str) -> Iterator[Item]:
    """Yield natures, flavours and toxicity of “sweet, neutral, not toxic”, each once an entry."""
    for anchor in (*_CUES["anchor"].finditer(text), *_CUES["bare-properties"].finditer(text)):
        bare = anchor.re is _CUES["bare-properties"]
        results = list(_run(text, anchor.end()))
        kinds = {each.relation for each in results}
        if len(kinds) < (2 if bare else 1) or kinds == {"hasToxicity"}:
            continue
        start = anchor.end() if bare else anchor.start()
        end = results[-1].end
        if text[end : end + 1] not in {"", "，", "。", "、", "；", ",", "\n", " ", H, "\u3000"}:
            continue
        for each in results:
            yield Item(each.relation, each.word, start, end)
        return


def _run(text: str, at: int) -> Iterator[Item]:
    while token := _CUES["token"].match(text, at):
        relation, word = next(
            (name, token[group])
            for group, name in (
                ("tox", "hasToxicity"),
                ("nature", "hasNature"),
                ("flavour", "hasFlavour"),
            )
            if token[group]
        )
        yield Item(relation, word, at, token.end())
        at = token.end()


@cache
def _channels() -> dict[str, str]:
    return {row[0]: row[1] for row in rows("channels")}


def _pair_of(verb: str) -> str:
    pairs = ("opposes", "fears", "incompatibleWith")
    return next(pair for pair in pairs if verb in word_list("herbal-words", pair)[0])


def is_dosed(text: str) -> bool:
    """Return whether a text has the weights and ways of a recipe: it is no material's own entry."""
    return _CUES["dosed"].search(text) is not None


def tropisms(text: str) -> Iterator[Item]:
    """Yield the organs whose channels are entered; an organ not called a channel is none."""
    for match in _CUES["tropism"].finditer(text):
        value = match["list"]
        closed = bool(match["close"]) or value.rstrip("、，" + H).endswith("经")
        for each in _CUES["channel"].finditer(value):
            if each["stage"]:
                limbs = "手足" if each["limb"] == "手足" else each["limb"]
                for limb in limbs:
                    yield Item(
                        "hasMeridianTropism", _channels()[limb + each["stage"]], *match.span()
                    )
            elif closed:
                yield Item("hasMeridianTropism", each["organ"].removesuffix("络"), *match.span())


_ITEM = re.compile(rf"[^，、；,。\s{H}]+")


def uses(text: str, sentences: int = 99) -> Iterator[Item]:
    """Yield what an entry says it governs or treats, until the list turns to something else."""
    for number, match in enumerate(_CUES["uses"].finditer(text)):
        if number >= sentences:
            return
        shift = match.start("list")
        for item in _ITEM.finditer(match["list"]):
            if _CUES["use-stops"].search(item[0]):
                break
            yield Item("use", item[0], match.start(), shift + item.end())


def without_verb(word: str) -> str:
    """Return a condition without the verb before it."""
    return _CUES["use-verbs"].sub("", word)


_LIST_AFTER = re.compile(r"[，。；、\s]*(?P<list>[^。\n]+)")


def efficacies(text: str, after: int) -> Iterator[Item]:
    """Yield the words of the sentence that follows nature and flavour."""
    match = _LIST_AFTER.match(text, after)
    if match is None:
        return
    for item in _ITEM.finditer(match["list"]):
        if _CUES["use-stops"].search(item[0]):
            break
        shift = match.start("list")
        yield Item("hasEfficacy", item[0], shift + item.start(), shift + item.end())


def aliases(text: str) -> Iterator[Item]:
    """Yield other names of the subject; one with a lost character is left out."""
    for match in _CUES["aliases"].finditer(text):
        if not _CUES["of-another"].search(text, 0, match.start()):
            yield Item("altLabel", match["name"], *match.span())


_NAME = re.compile(r"[^，、和及与]+")


def pairs(text: str) -> Iterator[Item]:
    """Yield the materials that the subject does not go with."""
    at = 0
    while match := _CUES["against"].search(text, at):
        at = match.end()
        verb, listed = match["verb"], match["list"]
        if "使" in listed:  # 忌火，白术为使: the last name is a helper, not an enemy
            listed = listed[: max(0, listed.rfind("，", 0, listed.index("使")))]
        for item in _NAME.finditer(listed):
            word = item[0].strip()
            if again := _CUES["against-again"].match(word):
                verb, word = again["verb"], word[len(again["verb"]) :]
            if re.search(r"[得杀若去]", word):
                break
            yield Item(_pair_of(verb), word, match.start(), match.start("list") + item.end())


def contraindications(text: str) -> Iterator[Item]:
    """Yield who is not to take it; what only some may take says the contrary."""
    for match in _CUES["forbids"].finditer(text):
        persons = match["who"]
        relation = (
            "cautionIn"
            if match["how"] in word_list("herbal-words", "caution")[0]
            else "contraindicatedIn"
        )
        if _CUES["pregnant"].match(persons):
            yield Item(relation, "孕妇", *match.span())
            continue
        if not match["person"] or re.search(r"[非无不未勿]", persons):
            continue
        for word in re.split(r"[、及与和]", _CUES["lead"].sub("", persons)):
            yield Item(relation, word, *match.span())


def methods(text: str) -> Iterator[Item]:
    """Yield the wording of a section on how to take it."""
    for match in _CUES["method"].finditer(text):
        yield Item("consumptionMethod", match["text"].strip(), *match.span("text"))


_SCHEMES = {
    "hasNature": ("Nature",), "hasFlavour": ("Flavour",), "hasToxicity": ("ToxicityLevel",),
    "hasMeridianTropism": ("Meridian",), "hasEfficacy": ("Efficacy",),
}  # fmt: skip
_PAIRS = frozenset({"opposes", "fears", "incompatibleWith"})
_ADVICE = frozenset({"contraindicatedIn", "cautionIn"})


class RulesExtractor:
    """Reads the passage that opens a section titled with the name of a material or formula.

    What follows later in a section speaks of recipes, parts and other things too often.
    """

    name = "rules"
    version = "3"
    by_model = False

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def trust(self, settings: IngestSettings) -> float:
        """Return ``ingest.rules``."""
        return settings.rules

    def read(
        self, passages: Sequence[Passage], document: Document, place: NamedNode
    ) -> Sequence[Extraction]:
        """Read each passage by itself; nothing but claims comes of it."""
        return [self.extract(each, document.source) for each in passages]

    def extract(self, passage: Passage, source: Source) -> Extraction:
        """Return what the entry states of its title; each quote is verbatim."""
        if not passage.first:
            return Extraction()
        title = bare_title(passage.section.title)
        classic = source.tier is Tier.CLASSIC
        if classic and title in unclear_titles():
            return Extraction(unlinked=Counter({"unclear title": 1}))
        material = self._lexicon.material(title)
        if material and len(title) == 1 and is_dosed(passage.text):
            return Extraction(unlinked=Counter({"unclear title": 1}))  # a recipe's, cut short
        subject = material or self._lexicon.find(title, PREPARED)
        if subject is None:
            return Extraction()
        results: dict[tuple[NamedNode, Object], ExtractedStatement] = {}
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
            predicate, value = meant
            if value != subject:
                results.setdefault(
                    (predicate, value),
                    ExtractedStatement(subject, predicate, value, item.start, item.end),
                )
        return Extraction(tuple(results.values()), unlinked)

    def _is_of_another(self, text: str, item: Item, subject: NamedNode) -> bool:
        """Return whether a sentence begins with another material's name.

        Not of pairs, which follow a helper.
        """
        if item.relation in _PAIRS:
            return False
        begun = max(text.rfind(mark, 0, item.start) for mark in "。；\n") + 1
        names = (text[begun : begun + size] for size in (4, 3, 2) if begun + size <= item.start)
        other = next(filter(None, map(self._lexicon.material, names)), None)
        return other is not None and other != subject

    def _names_another(self, item: Item, subject: NamedNode) -> bool:
        """Return whether an alias is the name of another material: of it speaks what follows."""
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
            return None if word in unclear_titles() else self._lexicon.material(word)
        if relation in _ADVICE:
            person = self._lexicon.find(word, ("Population", "Constitution"))
            return person or self._lexicon.condition(word, conditions)
        return self._lexicon.find("甘" if word == "甜" else word, _SCHEMES[relation])

    def _use(self, word: str, conditions: Sequence[str]) -> tuple[NamedNode, Object] | None:
        if efficacy := self._lexicon.find(word, ("Efficacy",)):
            return SHIYI.hasEfficacy, efficacy
        bare = without_verb(word)
        # 腹满 and 湿热 are signs and causes as often as patterns, which end in 证
        if not bare.endswith("证"):
            conditions = [kind for kind in conditions if kind != "Syndrome"]
        return _with(SHIYI.indicatedFor, self._lexicon.condition(bare, conditions))


def _with(predicate: NamedNode, value: NamedNode | None) -> tuple[NamedNode, Object] | None:
    return (predicate, value) if value else None


def _items(text: str, title: str, is_material: bool) -> Iterator[Item]:
    """Yield every item of an entry; of a formula only its use, from the first such sentence."""
    shown = hide_brackets(text)
    zone = shown[: zone_end(shown, title)]
    if not is_material:
        yield from uses(zone, sentences=1)
        yield from contraindications(zone)
        return
    end = 0
    for item in properties(zone):
        yield item
        end = item.end
    if end:
        yield from efficacies(zone, end)
    yield from tropisms(zone)
    yield from uses(zone)
    yield from aliases(zone)
    yield from pairs(text[: len(zone)])
    yield from contraindications(zone)
    yield from methods(zone)


def relation_of(result: ExtractedStatement) -> str:
    """Name a statement's relation, for counting."""
    return local_name(result.predicate.value)
