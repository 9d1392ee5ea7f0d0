"""From a record to a case, by rules or by a language model."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field

from shiyi.errors import MissingExtraError, OutsideError, SettingError
from shiyi.ingest.cases.classification import Classes
from shiyi.ingest.cases.records import Case, Mention, Record
from shiyi.ingest.cases.term_matches import list_words
from shiyi.ingest.extraction.replies import Form, Name
from shiyi.linking.case_terms import age_group, patient_sex
from shiyi.linking.disambiguation import read_words
from shiyi.linking.linker import LEXICAL, Linker
from shiyi.linking.normalization import language_of
from shiyi.model.answer import Mention as Linked
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import Cues, cue_texts, cues
from shiyi.ontology.schema import Schema
from shiyi.prompts.resilience import Retrier
from shiyi.prompts.templates import Prompt

_NAME_CUES: Final = Cues("deidentification")
_CAP = r"(?:[A-Z]['’])?[A-Z][a-zà-ÿ]+(?:[A-Z][a-zà-ÿ]+)?(?:['’-][A-Z]?[a-zà-ÿ]+)?"
_EN_NAMES: Final = tuple(
    re.compile(each)
    for each in (
        rf"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Sir|Madam)\b\.?\s+(?P<name>(?:[A-Z]\.?\s+){{0,2}}{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.)){{0,2}})",
        rf"\b(?i:patient(?:'s)?\s+name|full\s+name|name|patient|contact|next\s+of\s+kin|physician|signed)\s*[:=]\s*(?P<name>{_CAP}(?:,?\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{0,3}})",
        rf"\b(?:[Tt]he\s+)?[Pp]atient,?\s+(?P<name>{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{1,2}})",
        rf"(?:\A|[.\n;]\s*)(?P<name>{_CAP}(?:\s+(?:{_CAP}|[A-Z]\.?(?![a-z]))){{1,2}})(?=\s*,?\s+(?:is\s+)?(?:an?\s+)?(?:\d{{1,3}}|aged))",
        rf"\b(?:named|called|daughter|son|wife|husband|mother|father|brother|sister),?\s+(?P<name>{_CAP}(?:\s+{_CAP}){{1,2}})",
    )
)
# words that begin like a name and are none
_NO_NAMES: Final = frozenset(read_words("no-names"))


def _mark(kind: str) -> str:
    return cue_texts("marks")[kind][0]


def deidentify(text: str, identity: Mapping[str, str], removed: Counter[str]) -> str:
    """Return a text without who it is about; ``removed`` counts what went, by kind.

    >>> counted = Counter()
    >>> deidentify("患者王小明，男，42岁，电话13812345678。", {}, counted)
    '患者［姓名］，男，42岁，［电话］。'
    >>> sorted(counted)
    ['name', 'phone']
    """
    for kind, value in identity.items():
        for part in re.split(r"[;；|]", value):
            text = _remove_value(text, part.strip(), kind, removed)
    for name, pattern in cues("identifiers").items():
        kind = name.rpartition(" ")[0]
        text, count = pattern.subn(_mark(kind), text)
        _count(removed, kind, count)
    for name in dict.fromkeys(_names(text)):
        text = _remove_value(text, name, "name", removed)
    text, count = _NAME_CUES["over-89"].subn(_mark("age over 89"), text)
    _count(removed, "age over 89", count)
    return text


def find_names_by_place(text: str) -> tuple[str, ...]:
    """Return the names that a text shows by their place, so that they go from its other parts too.

    >>> find_names_by_place("患者王小明，男，42岁。")
    ('王小明',)
    """
    return tuple(dict.fromkeys(name for name in _names(text) if len(name) > 1))


def _count(removed: Counter[str], kind: str, count: int) -> None:
    if count:
        removed[kind] += count


def _remove_value(text: str, value: str, kind: str, removed: Counter[str]) -> str:
    """Remove each occurrence of a known value, except one too short to tell from words."""
    if len(value) < 2 or (value.isascii() and len(value) < 3):
        return text
    pattern = re.escape(value)
    if value.isascii():
        pattern = rf"(?<![A-Za-z0-9]){pattern}(?![A-Za-z0-9])"
    text, count = re.subn(pattern, _mark(kind), text, flags=re.IGNORECASE)
    _count(removed, kind, count)
    return text


def _names(text: str) -> Iterator[str]:
    """Yield the names found by their place, and of English ones each part that may stand alone."""
    for pattern in (*cues("names").values(), *_EN_NAMES):
        for match in pattern.finditer(text):
            name = match["name"]
            if not _is_none(name):
                yield name
                yield _NAME_CUES["title-end"].sub("", name)
                if name.isascii():
                    yield from (
                        part
                        for part in re.split(r"[\s,.]+", name)
                        if len(part) > 2 and not _is_none(part)
                    )


@cache
def _is_none(name: str) -> bool:
    return name.lower() in _NO_NAMES or any(part.lower() in _NO_NAMES for part in name.split())


# what Presidio looks for and the mark that takes its place; dates and places may be findings
_ENTITIES: Final = {
    "PERSON": "name", "PHONE_NUMBER": "phone", "EMAIL_ADDRESS": "e-mail", "US_SSN": "id",
    "CREDIT_CARD": "id", "IBAN_CODE": "id", "IP_ADDRESS": "id", "MEDICAL_LICENSE": "id",
}  # fmt: skip
Finder = Callable[[str], Iterable[tuple[str, str]]]


def open_finder(models: str) -> Finder:
    """Return what finds further identifiers, kind and words, by Presidio over spaCy ``models``.

    Raise :class:`MissingExtraError` without the extra, :class:`SettingError` without a model.
    """
    if not models:
        return lambda _: ()
    try:
        from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
        from presidio_analyzer.nlp_engine import SpacyNlpEngine
    except ImportError as fault:
        raise MissingExtraError("the second pass of de-identification", "privacy") from fault
    named = {name[:2]: name for name in models.split()}  # en_core_web_lg, zh_core_web_lg
    if missing := [name for name in named.values() if not find_spec(name)]:
        raise SettingError("ingest.privacy", f"{missing[0]} is not installed")
    engine = SpacyNlpEngine([{"lang_code": k, "model_name": name} for k, name in named.items()])
    engine.load()
    registry = RecognizerRegistry(supported_languages=[*named])
    registry.load_predefined_recognizers(languages=[*named], nlp_engine=engine)
    analyzer = AnalyzerEngine(registry, engine, supported_languages=[*named])

    def find(text: str) -> Iterator[tuple[str, str]]:
        if (language := language_of(text)) in named:
            for each in analyzer.analyze(text, language, entities=[*_ENTITIES]):
                yield _ENTITIES[each.entity_type], text[each.start : each.end]

    return find


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
class CaseReading:
    """The result of reading the text of a case; every word of it stands there."""

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
        """Distinguish readers that would read otherwise."""

    def read(self, text: str) -> CaseReading:
        """Return mentions and reasoning of a text."""


@dataclass(frozen=True, slots=True)
class DictionaryReader:
    """Reads with the linker: conditions that are named and not denied, and treatments."""

    linker: Linker
    name: str = "rules"
    version: str = "1"

    def read(self, text: str) -> CaseReading:
        """Return the concepts that the base knows by name."""
        results: dict[tuple[str, str], Mention] = {}
        for sentence in _SENTENCES.split(text):  # so that no limit of the linker is met
            for each in self.linker.link(sentence):
                kind = _KIND_OF.get(each.kind or "", "")
                if each.iri and kind and not each.negated and each.justification == LEXICAL:
                    mention = Mention(each.text, kind, NamedNode(each.iri))
                    results.setdefault((mention.words, kind), mention)
        return CaseReading(tuple(results.values()))

    def conditions(self, text: str) -> Iterator[Linked]:
        """Yield the conditions a text names and does not deny."""
        kinds = Schema.load().subclasses("Condition")
        for mention in self.linker.link(text):
            named = mention.justification == LEXICAL and not mention.negated
            if mention.iri and mention.kind in kinds and named:
                yield mention


@dataclass(slots=True)
class Importer:
    """Turns records into cases; ``removed`` counts removed identifiers, by kind."""

    reader: CaseReader
    dictionary: DictionaryReader
    classes: Classes
    digest: str
    find: Finder
    removed: Counter[str] = field(default_factory=Counter)

    def case(self, record: Record) -> Case:
        """Return one case; nothing that names a person outlives this call."""
        named = find_names_by_place("\n".join(record.fields.values()))
        identity = {**record.identity, "name": ";".join((record.identity.get("name", ""), *named))}

        def clean(value: str) -> str:
            cleaned = deidentify(value, identity, self.removed)
            for kind, words in self.find(cleaned):
                cleaned = _remove_value(cleaned, words, kind, self.removed)
            return cleaned

        self.removed.update(f"field {kind}" for kind in record.identity)
        text = clean(record.text)
        lines = {name: tuple(map(clean, record.values(name))) for name, _ in _LISTS}
        read = self.reader.read(text)
        mentions = {(each.words, each.kind): each for each in read.mentions}
        answer = "\n".join(map(clean, self._answer(record)))
        for mention in self.dictionary.read(answer).mentions:
            if mention.kind != "symptom":  # of what is answered, not of what is asked
                mentions.setdefault((mention.words, mention.kind), mention)
        for name, kind in _LISTS:
            for words in lines[name]:
                mentions.setdefault((words, kind), Mention(words, kind))
        steps = dict.fromkeys(read.steps)
        for before, after, first, second in record.steps():
            steps[Mention(clean(before), first), Mention(clean(after), second)] = None
        for pair in steps:
            for mention in pair:
                mentions.setdefault((mention.words, mention.kind), mention)
        remaining = tuple(mentions.values())
        group = age_group(text, record.fields.get("age", ""))
        sex = patient_sex(text, record.fields.get("sex", ""))
        classes, how = self._file_case(read, remaining, lines["disease"], (group, sex), text)
        number = content_hash(self.digest, str(record.number), text)
        history = tuple(dict.fromkeys((*read.history, *self._history(clean, record))))
        return Case(
            resource(f"case/{number}"),
            text,
            language_of(text),
            group,
            sex,
            history,
            remaining,
            tuple((mentions[a.words, a.kind], mentions[b.words, b.kind]) for a, b in steps),
            classes,
            answer,
            how,
        )

    def _file_case(
        self,
        read: CaseReading,
        mentions: tuple[Mention, ...],
        names: tuple[str, ...],
        patient: tuple[str, str],
        text: str,
    ) -> tuple[tuple[NamedNode, ...], str]:
        if by_code := self.classes.of_codes(read.codes):
            return by_code, "chosen by the model"
        concepts = [each.concept for each in mentions if each.concept and each.kind == "disease"]
        concepts += [
            NamedNode(each.iri)
            for words in names
            for each in self.dictionary.conditions(words)
            if each.iri
        ]
        return self.classes.file(list_words(mentions), concepts, patient, names, text)

    def _history(self, clean: Callable[[str], str], record: Record) -> Iterator[NamedNode]:
        for mention in self.dictionary.conditions(clean(record.fields.get("history", ""))):
            if mention.iri:
                yield NamedNode(mention.iri)

    @staticmethod
    def _answer(record: Record) -> Iterator[str]:
        for name in ("patterns", "disease", "treatment", "answer"):
            if value := record.fields.get(name):
                yield value


class CaseWords(Form):
    """Words of a case, and what they speak of."""

    words: Name
    kind: Literal["symptom", "pathogenesis", "pattern", "disease", "treatment"]


class CaseStep(Form):
    """A step of the reasoning that a case states."""

    start: Annotated[Name, Field(alias="from")]
    to: Name


class CaseForm(Form):
    """The reply of a model about a case."""

    mentions: Annotated[list[CaseWords], Field(max_length=200)]
    steps: Annotated[list[CaseStep], Field(max_length=200)]
    classes: Annotated[list[Name], Field(max_length=10)]


@dataclass(slots=True)
class LlmCaseReader:
    """Reads what a model finds and the dictionary knows; words that are not in the text are none.

    Where the model cannot be had the dictionary reads alone; ``faults`` counts why.
    """

    asker: Retrier
    dictionary: DictionaryReader
    classes: Classes
    faults: Counter[str] = field(default_factory=Counter)
    name: str = "llm"
    prompt: Prompt = field(default_factory=lambda: Prompt.named("read-case"))

    @property
    def version(self) -> str:
        """Distinguish models and wordings of the prompt."""
        return content_hash(self.asker.model.name, self.prompt.version)[:12]

    def read(self, text: str) -> CaseReading:
        """Return the results of both readers."""
        reading = self.dictionary.read(text)
        listed = "\n".join(
            f"{iri.rpartition('gbt-')[2].replace('-', '.').upper()} {name}"
            for iri, name in self.classes.names.items()
        )
        try:
            reply = self.asker.ask(self.prompt, CaseForm, classes=listed, case=text)
        except OutsideError as fault:
            self.faults[f"case read without the model: {fault}"[:200]] += 1
            return reading
        results = {
            mention.words: Mention(mention.words, mention.kind)
            for mention in reply.mentions
            if mention.words in text
        }
        steps = tuple(
            (results[step.start], results[step.to])
            for step in reply.steps
            if step.start in results and step.to in results
        )
        concepts = {mention.words: mention for mention in reading.mentions}
        mentions = [concepts.get(words, mention) for words, mention in results.items()]
        rest = [mention for words, mention in concepts.items() if words not in results]
        return CaseReading(
            (*mentions, *rest), steps, codes=tuple(sorted(reply.classes, key=len)[::-1])
        )
