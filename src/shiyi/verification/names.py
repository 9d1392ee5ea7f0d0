"""Names of concepts in the words of others: what an entry is about, and what it mentions."""

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from shiyi.artefacts import artefact
from shiyi.ingest.tables.concepts import Concept, Concepts

WORDS = "ingest/evidence/words.toml"
_REMARK = re.compile(r"\s*[（(][^）)]*[）)]$")
_WORD = re.compile(r"[a-z0-9]")


@cache
def words() -> dict[str, Any]:
    """Return the words of ``ingest/evidence/words.toml``."""
    with artefact(WORDS).open("rb") as file:
        results = tomllib.load(file)
    variants = {"variants": str.maketrans(results["variants"])}
    return {
        **variants,
        "properties": results["properties"],
        "groups": results["groups"],
        **results["words"],
    }


def normalize(text: str) -> str:
    """Return ``text`` in lower case and in one of the ways to write each character."""
    lowered = text.lower() if len(text.lower()) == len(text) else text
    return lowered.translate(words()["variants"]).replace("’", "'")


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name in a text: where it stands, and the concepts that have it."""

    start: int
    end: int
    ids: frozenset[str]
    shortened: bool = False


class Names:
    """The labels of the concepts of some classes, looked up whole or within a text."""

    def __init__(self, concepts: Iterable[Concept], endings: Mapping[str, str]) -> None:
        whole: dict[str, set[str]] = defaultdict(set)
        preferred: dict[str, set[str]] = defaultdict(set)
        shortened: dict[str, set[str]] = defaultdict(set)
        for concept in concepts:
            for label in (concept.zh, concept.en):
                preferred[normalize(label)].add(concept.id)
            ending = endings.get(concept.class_name, "")
            for label in list_names(concept):
                name = normalize(label)
                whole[name].add(concept.id)
                if ending and name.endswith(ending) and len(name) > len(ending) + 1:
                    shortened[name.removesuffix(ending)].add(concept.id)
        self.whole = {name: frozenset(ids) for name, ids in whole.items()}
        self.preferred = {name: frozenset(ids) for name, ids in preferred.items()}
        self._shortened = {
            name: frozenset(ids) for name, ids in shortened.items() if name not in whole
        }
        # longer words that hold a name and mean something else, and names too vague to count
        self._masks = frozenset(words()["masks"])
        self._lengths: dict[str, list[int]] = defaultdict(list)
        for name in (*self.whole, *self._shortened, *self._masks):
            if len(name) > 1:
                self._lengths[name[:2]].append(len(name))
            elif not _WORD.match(name):
                self._lengths[name].append(1)
        for lengths in self._lengths.values():
            lengths[:] = sorted(set(lengths), reverse=True)

    def find(self, text: str) -> Iterator[NameMatch]:
        """Yield the longest names of ``text`` from left to right; none within another."""
        given, place = normalize(text), 0
        while place < len(given):
            match = self._at(given, place)
            if match:
                if match.ids:
                    yield match
                place = match.end
            else:
                place += 1

    def _at(self, text: str, start: int) -> NameMatch | None:
        if start and _WORD.match(text[start]) and _WORD.match(text[start - 1]):
            return None
        for key in (text[start : start + 2], text[start]):
            for length in self._lengths.get(key, ()):
                end = start + length
                name = text[start:end]
                if end > len(text) or not _ends(text, end):
                    continue
                if name in self._masks:
                    return NameMatch(start, end, frozenset())
                if ids := self.whole.get(name):
                    return NameMatch(start, end, ids)
                if ids := self._shortened.get(name):
                    return NameMatch(start, end, ids, shortened=True)
        return None


def _ends(text: str, end: int) -> bool:
    """Return whether a name may end there: not within a Latin word, but before its plural."""
    if end >= len(text) or not _WORD.match(text[end - 1]) or not _WORD.match(text[end]):
        return True
    return text[end] == "s" and (end + 1 >= len(text) or not _WORD.match(text[end + 1]))


def _remarks(title: str) -> list[str]:
    """Return what stands in brackets after a title: its other names, or its form."""
    match = _REMARK.search(title)
    return re.split(r"[（(）)、，,]", match.group()) if match else []


def list_names(concept: Concept) -> tuple[str, ...]:
    """Return every name of a concept in both languages; of a species also without remarks."""
    labels = (concept.zh, concept.en, *concept.alt_zh, *concept.alt_en)
    if concept.class_name in {"Organism", "OrganismPart"}:
        labels = (*labels, *concept.latin, *(_REMARK.sub("", label) for label in labels))
    return tuple(dict.fromkeys(label for label in labels if label))


class Subjects:
    """Finds the concept that an entry is about, by its title and its other names."""

    def __init__(self, concepts: Concepts, kinds: Iterable[str]) -> None:
        wanted = frozenset(kinds)
        self._concepts = concepts
        self._among = Names(
            (concept for concept in concepts.by_id.values() if concept.class_name in wanted), {}
        )

    def of(self, title: str, others: Iterable[str] = ()) -> str:
        """Return the id of the concept that an entry is about; empty where it is unsure.

        A title that is the preferred label of a concept is that concept. A title that is another
        name of just one concept is it too, unless the names differ by a part or a preparation.
        An other name of the entry counts only where it is the preferred label of one concept.
        """
        name, others = normalize(_REMARK.sub("", title).strip()), (*others, *_remarks(title))
        if len(results := self._among.preferred.get(name, frozenset())) == 1:
            return next(iter(results))
        if results:
            return ""
        if len(results := self._among.whole.get(name, frozenset())) == 1:
            single = next(iter(results))
            return "" if self._differs(name, single) else single
        candidates = {
            each
            for other in others
            for each in self._among.preferred.get(normalize(other.strip()), ())
            if other.strip() and self._akin(name, each) and not self._differs(name, each)
        }
        return candidates.pop() if len(candidates) == 1 and not results else ""

    def _akin(self, name: str, identity: str) -> bool:
        """Return whether title and label share a character: mere homonyms seldom do."""
        concept = self._concepts.by_id[identity]
        return bool(set(name) & set(normalize(concept.zh)) or _WORD.match(name))

    def _differs(self, name: str, identity: str) -> bool:
        label = normalize(self._concepts.by_id[identity].zh)
        if _WORD.match(name):
            return False
        if name in words()["distinct"]:
            return name != label
        shorter, longer = sorted((name, label), key=len)
        if shorter in longer and shorter != longer:
            rest = longer.replace(shorter, "", 1)
            return rest not in words()["neutral"]
        return name[-1] != label[-1] and (name[-1] in words()["derived"] or len(name) == 1)
