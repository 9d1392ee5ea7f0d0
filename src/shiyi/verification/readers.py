"""What an entry says about a claim: it supports it, contradicts it, or is silent."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property, lru_cache

from shiyi.ingest.tables.concepts import Concepts
from shiyi.ontology.schema import Schema
from shiyi.verification.names import NameMatch, Names, normalize, words

ENDINGS = {"Syndrome": "证", "TCMDisease": "病", "Constitution": "质"}
CLINICAL = frozenset(
    {
        "Symptom", "EmergencySign", "Disease", "TCMDisease", "Syndrome", "Population",
        "Constitution",
    }
)  # fmt: skip
INVERSE = "^"  # before a relation with a subject that the text names, and the title as object
EXACT = frozenset({"hasIngredient", "derivedFromOrganism", "usesPart"})
SAFETY = frozenset(
    {
        "cautionIn", "contraindicatedIn", "interactsWith", "opposes", "incompatibleWith",
        "hasToxicity", "fears", "unsuitableFood",
    }
)  # fmt: skip
_LATIN = re.compile(r"[A-Za-z]{3}")
_ITEMS = re.compile(r"[、，,;；。\s|：:]+")
_BRACKETS = re.compile(r"[（(〔\[][^）)〕\]]*[）)〕\]]")
_CLAUSE = re.compile(r"[^。；;!！\n|]+[。；;!！\n|]?")
_SENTENCE = re.compile(r"[^。；\n|]+?(?:[。；\n|]|[.!?](?=\s|$|\[|[A-Z])|$)")


class Verdict(StrEnum):
    """What an entry says of a claim; one that is silent has no verdict."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class Reader:
    """Compares the objects of claims with the words of an entry."""

    def __init__(
        self, concepts: Concepts, broader: Mapping[str, list[str]], schema: Schema
    ) -> None:
        self._concepts, self._broader, self._schema = concepts, broader, schema
        self._by_range: dict[frozenset[str], Names] = {}
        self._by_relation: dict[str, Names] = {}

    def names(self, relation: str) -> Names:
        """Return the names that may be the object of a relation, or stand in its place."""
        if relation not in self._by_relation:
            self._by_relation[relation] = self._names(relation)
        return self._by_relation[relation]

    def _names(self, relation: str) -> Names:
        property_ = self._schema.property(relation.removeprefix(INVERSE))
        wanted = property_.domain if relation.startswith(INVERSE) else property_.range
        classes = frozenset(
            each
            for each in {concept.class_name for concept in self._concepts.by_id.values()}
            if self._schema.fits(each, wanted)
        )
        if classes & CLINICAL:
            classes |= CLINICAL
        if classes not in self._by_range:
            among = (x for x in self._concepts.by_id.values() if x.class_name in classes)
            self._by_range[classes] = Names(among, ENDINGS)
        return self._by_range[classes]

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        results: dict[str, frozenset[str]] = {}

        def of(each: str) -> frozenset[str]:
            if each not in results:
                results[each] = frozenset({each}).union(*(of(x) for x in self._broader[each]))
            return results[each]

        for each in self._broader:
            of(each)
        return results

    def entails(self, relation: str, found: Iterable[str], claimed: str) -> bool:
        """Return whether one of the concepts that are stated makes the claimed one true.

        A narrower sign or effect shows the broader; a warning about the broader covers the
        narrower; a value or an ingredient shows itself alone.
        """
        found = frozenset(found)
        if claimed in found:
            return True
        if relation in EXACT or relation in VALUES or relation.startswith(INVERSE):
            return False
        if relation in SAFETY:
            return bool(found & self._ancestors[claimed])
        return any(claimed in self._ancestors[each] for each in found)

    def values_in(self, relation: str, text: str) -> frozenset[str]:
        """Return the concepts that ``text`` states for a relation: named, and not denied."""
        return self._values(relation, text)

    @lru_cache(maxsize=4096)  # noqa: B019 - one reader a run
    def _values(self, relation: str, text: str) -> frozenset[str]:
        names = self.names(relation)
        wholes = (text, *expansions(text))
        return frozenset(
            identity
            for one in wholes
            for match in names.find(one)
            if not is_denied(one, match) and not (match.shortened and _continues(one, match))
            for identity in match.ids
        )

    def mentions(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where ``text`` names the object, in one or in two parts."""
        if self.entails(relation, self._values(relation, text), claimed):
            return Verdict.SUPPORTS
        if self._concepts.by_id[claimed].class_name in {"Efficacy", "Therapy"}:
            concept = self._concepts.by_id[claimed]
            given = "，".join((normalize(text), *map(normalize, expansions(text))))
            for label in (concept.zh, *concept.alt_zh):
                name = normalize(label)
                if len(name) == 4 and all(_has(given, half) for half in (name[:2], name[2:])):
                    return Verdict.SUPPORTS
        return None

    def values(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Compare with a complete list: what it lacks is contradicted, unless near to it."""
        result = self._values(relation, text)
        if not result:
            return None
        if claimed in result:
            return Verdict.SUPPORTS
        near = any(claimed in self._ancestors[x] or x in self._ancestors[claimed] for x in result)
        return None if near else Verdict.CONTRADICTS

    def items(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where the object is one item of a list of ingredients."""
        return Verdict.SUPPORTS if claimed in self.list_members(relation, text) else None

    def list_members(self, relation: str, text: str) -> frozenset[str]:
        """Return the concepts that are items of a list, without amounts and ways to prepare."""
        return self._listed_concepts(relation, text)

    @lru_cache(maxsize=4096)  # noqa: B019 - one reader a run
    def _listed_concepts(self, relation: str, text: str) -> frozenset[str]:
        names = self.names(relation)
        return frozenset(
            identity
            for item in _ITEMS.split(_BRACKETS.sub("", normalize(text)))
            for identity in _item(item, names)
        )

    def exact(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where the cell, or a part of it between commas, is a name."""
        names = self.names(relation)
        parts = (normalize(text), *re.split(r"\s*[,;|、，；]\s*|\s+and\s+", normalize(text)))
        content = frozenset().union(*(self._exact(names, part.strip(" .")) for part in parts))
        return Verdict.SUPPORTS if self.entails(relation, content, claimed) else None

    @staticmethod
    def _exact(names: Names, part: str) -> frozenset[str]:
        for name in (part, part.removesuffix("s"), f"{part}s"):
            if results := names.whole.get(name):
                return results
        return frozenset()

    def cautions(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where a clause that warns names the object."""
        given = re.split(words()["warned"], text)
        for clause in (each for part in given for each in clauses(part)):
            if not warns(relation, clause):
                continue
            stated = _exception_pattern().sub("", normalize(clause))
            if self.mentions(relation, stated, claimed):
                return Verdict.SUPPORTS
        return None

    def parts(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where the object is one of the parts between dashes."""
        names = self.names(relation).whole
        found = any(claimed in names.get(normalize(part), ()) for part in text.split("-"))
        return Verdict.SUPPORTS if found else None

    def places(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where an organ is named, alone or with another."""
        return Verdict.SUPPORTS if claimed in self._values(relation, text) else None

    def lactation(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where a sentence on breastfeeding warns, for nursing women alone."""
        given, known = normalize(text), words()
        if claimed != LACTATING or re.search(known["lactation_besides"], given):
            return None
        if re.search(known["lactation_ban"], given):
            return Verdict.SUPPORTS
        warned = relation == "cautionIn" and re.search(known["lactation_warning"], given)
        return Verdict.SUPPORTS if warned else None

    def origin(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where the sentence on species and part names the object whole."""
        names = self.names(relation).whole
        for pattern in _properties(relation):
            if match := pattern.search(text):
                parts = re.split(r"[、或和及]|的干燥", normalize(match["value"]))
                if any(claimed in names.get(part.strip(), ()) for part in parts):
                    return Verdict.SUPPORTS
        return None

    def groups(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where a group of a food table lies within the group claimed."""
        values = {group for mark, group in words()["groups"].items() if mark in text}
        return Verdict.SUPPORTS if self.entails(relation, values, claimed) else None

    def properties(self, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return *supports* where a sentence of an old book is made of properties alone."""
        for pattern in _properties(relation):
            if match := pattern.search(text):
                result = self._values(relation, match["value"])
                return Verdict.SUPPORTS if claimed in result else None
        return None

    def verdict(self, reader: str, relation: str, text: str, claimed: str) -> Verdict | None:
        """Return what ``text`` says of a claim's object, read as the table's rule asks."""
        read: Callable[[str, str, str], Verdict | None] = getattr(self, reader)
        return read(relation, text, claimed)


LACTATING = "population-lactating"
VALUES = frozenset({"hasNature", "hasFlavour", "hasMeridianTropism", "hasToxicity"})


@lru_cache
def _exception_pattern() -> re.Pattern[str]:
    return re.compile(words()["besides"])


def _has(text: str, half: str) -> bool:
    """Return whether a half of a name stands in the text, not after a denial."""
    place = text.find(half)
    return place >= 0 and not is_denied(text, NameMatch(place, place + len(half), frozenset()))


def _item(item: str, names: Names) -> frozenset[str]:
    """Return the ingredient that an item of a list begins with.

    What follows its name must be an amount or a remark, what stands before it a way to prepare.
    """
    known = words()
    starts = ("", *(each for each in known["processing"] if item.startswith(each)))
    for start in starts:
        rest = item.removeprefix(start)
        for length in range(min(len(rest), 8), 0, -1):
            name, after = rest[:length], rest[length:]
            if name not in names.whole or (start and length == 1):
                continue
            if not after or after[0].isdigit() or after.startswith(tuple(known["remarks"])):
                return names.whole[name]
    return frozenset()


@lru_cache
def _properties(relation: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(word) for word in words()["properties"][relation])


def is_denied(text: str, match: NameMatch) -> bool:
    """Return whether the words before a name deny it."""
    before = normalize(text[max(0, match.start - 24) : match.start])
    if _LATIN.search(text[match.start : match.end]):
        return before.endswith(tuple(words()["english_denials"]))
    return before.endswith(tuple(words()["denials"]))


def _continues(text: str, match: NameMatch) -> bool:
    """Return whether a short pattern name goes on to another word."""
    after = text[match.end :]
    if not after or match.end - match.start > 3:
        return False
    return not after.startswith(tuple(words()["pattern_ends"]))


def clauses(text: str) -> Iterator[str]:
    """Yield the clauses of a text, in English its sentences."""
    pattern = _SENTENCE if _LATIN.search(text[:40]) else _CLAUSE
    for match in pattern.finditer(text):
        yield match.group()


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence."""
    for match in _SENTENCE.finditer(text):
        if match.group().strip():
            yield match.start(), match.end()


def warns(relation: str, clause: str) -> bool:
    """Return whether a clause forbids, or for a caution at least warns."""
    given = normalize(clause)
    strength = "caution" if relation == "cautionIn" else "forbidding"
    if _LATIN.search(given[:40]):
        if any(word in given for word in words()["english_permission"]):
            return False
        return any(word in given for word in words()[f"english_{strength}"])
    return any(word in given for word in words()[strength])


def expansions(text: str) -> tuple[str, ...]:
    """Return what a shortened wording says in full: one verb before two organs, one pulse word.

    >>> expansions("补肝肾，脉细数")
    ('补肝', '补肾', '脉细', '脉数')
    """
    return tuple(dict.fromkeys(_expansions(normalize(text))))


def _expansions(text: str) -> Iterator[str]:
    for pattern in _patterns():
        for match in pattern.finditer(text):
            for each in match.group(2):
                yield match.group(1) + each


@lru_cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(word) for word in words()["shared"])
