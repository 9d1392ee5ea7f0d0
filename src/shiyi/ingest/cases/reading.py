"""From a record to a case: who it is about goes first, then facets, words and class."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from shiyi.ingest.cases import facets
from shiyi.ingest.cases.case import Case, Mention
from shiyi.ingest.cases.classifying import Classes
from shiyi.ingest.cases.deidentify import deidentify, names_in
from shiyi.ingest.cases.layers import words_of
from shiyi.ingest.cases.records import Record
from shiyi.linking.linker import LEXICAL, Linker
from shiyi.linking.normalise import language_of
from shiyi.model.mention import Mention as Linked
from shiyi.model.names import content_hash, resource
from shiyi.model.rdf import NamedNode
from shiyi.ontology.vocabulary import Schema

_KIND_OF = {
    "Symptom": "symptom", "EmergencySign": "symptom", "Syndrome": "pattern", "Disease": "disease",
    "TCMDisease": "disease", "Therapy": "treatment", "Formula": "treatment",
}  # fmt: skip
_SENTENCES = re.compile(r"(?<=[。；;\n])")
_LISTS = (
    ("symptoms", "symptom"), ("pathogenesis", "pathogenesis"), ("patterns", "pattern"),
    ("disease", "disease"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """What a reader saw in the text of a case; every word of it stands there."""

    mentions: tuple[Mention, ...] = ()
    steps: tuple[tuple[Mention, Mention], ...] = ()
    history: tuple[NamedNode, ...] = ()
    codes: tuple[str, ...] = ()


class CaseReader(Protocol):
    """Finds the words of a de-identified text that speak of the patient's condition."""

    @property
    def name(self) -> str:
        """Name the kind of reader."""

    @property
    def version(self) -> str:
        """Tell apart readers that would read otherwise."""

    def read(self, text: str) -> Read:
        """Give mentions and reasoning of a text."""


@dataclass(frozen=True, slots=True)
class DictionaryReader:
    """Reads with the linker: conditions that are named and not denied, and treatments."""

    linker: Linker
    name: str = "rules"
    version: str = "1"

    def read(self, text: str) -> Read:
        """Give what the base knows by name."""
        found: dict[tuple[str, str], Mention] = {}
        for sentence in _SENTENCES.split(text):  # so that no limit of the linker is met
            for each in self.linker.link(sentence):
                kind = _KIND_OF.get(each.kind or "", "")
                if each.iri and kind and not each.negated and each.justification == LEXICAL:
                    made = Mention(each.text, kind, NamedNode(each.iri))
                    found.setdefault((made.words, kind), made)
        return Read(tuple(found.values()))

    def conditions(self, text: str) -> Iterator[Linked]:
        """Yield the conditions a text names and does not deny."""
        kinds = Schema.load().subclasses("Condition")
        for each in self.linker.link(text):
            named = each.justification == LEXICAL and not each.negated
            if each.iri and each.kind in kinds and named:
                yield each


@dataclass(slots=True)
class Reading:
    """Makes cases of records; ``removed`` counts what was taken out, by kind."""

    reader: CaseReader
    dictionary: DictionaryReader
    classes: Classes
    digest: str
    removed: Counter[str] = field(default_factory=Counter)

    def case(self, record: Record) -> Case:
        """Give one case; nothing that names a person outlives this call."""
        named = names_in("\n".join(record.fields.values()))
        identity = {**record.identity, "name": ";".join((record.identity.get("name", ""), *named))}

        def clean(said: str) -> str:
            return deidentify(said, identity, self.removed)

        self.removed.update(f"field {kind}" for kind in record.identity)
        text = clean(record.text)
        told = {name: tuple(map(clean, record.values(name))) for name, _ in _LISTS}
        read = self.reader.read(text)
        mentions = {(each.words, each.kind): each for each in read.mentions}
        answer = "\n".join(map(clean, self._answer(record)))
        for each in self.dictionary.read(answer).mentions:
            if each.kind != "symptom":  # of what is answered, not of what is asked
                mentions.setdefault((each.words, each.kind), each)
        for name, kind in _LISTS:
            for words in told[name]:
                mentions.setdefault((words, kind), Mention(words, kind))
        steps = dict.fromkeys(read.steps)
        for before, after, first, second in record.steps():
            steps[Mention(clean(before), first), Mention(clean(after), second)] = None
        for pair in steps:
            for each in pair:
                mentions.setdefault((each.words, each.kind), each)
        kept = tuple(mentions.values())
        group = facets.age_group(text, record.fields.get("age", ""))
        sex = facets.sex(text, record.fields.get("sex", ""))
        classes, how = self._filed(read, kept, told["disease"], (group, sex))
        number = content_hash(self.digest, str(record.number), text)
        history = tuple(dict.fromkeys((*read.history, *self._history(clean, record))))
        return Case(
            resource(f"case/{number}"), text, language_of(text), group, sex, history, kept,
            tuple((mentions[a.words, a.kind], mentions[b.words, b.kind]) for a, b in steps),
            classes, answer, how,
        )  # fmt: skip

    def _filed(
        self,
        read: Read,
        mentions: tuple[Mention, ...],
        named: tuple[str, ...],
        who: tuple[str, str],
    ) -> tuple[tuple[NamedNode, ...], str]:
        if by_code := self.classes.of_codes(read.codes):
            return by_code, "chosen by the model"
        concepts = [each.concept for each in mentions if each.concept and each.kind == "disease"]
        concepts += [
            NamedNode(each.iri) for words in named for each in self.dictionary.conditions(words)
            if each.iri
        ]  # fmt: skip
        return self.classes.file(words_of(mentions), concepts, who)

    def _history(self, clean: Callable[[str], str], record: Record) -> Iterator[NamedNode]:
        for each in self.dictionary.conditions(clean(record.fields.get("history", ""))):
            if each.iri:
                yield NamedNode(each.iri)

    @staticmethod
    def _answer(record: Record) -> Iterator[str]:
        for name in ("patterns", "disease", "treatment", "answer"):
            if said := record.fields.get(name):
                yield said
