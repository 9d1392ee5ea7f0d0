"""Case files as records."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from shiyi.errors import FormatError, UsageError
from shiyi.ingest.datasets.limits import decode, read_bytes
from shiyi.model.iris import content_hash, resource
from shiyi.model.rdf import NamedNode
from shiyi.ontology.lexicon import cue_texts, word_list

ENDINGS = (".json", ".jsonl", ".csv", ".txt", ".md")
_NARRATIVE = ("complaint", "present", "history", "examination")
_LIST = re.compile(r"[;；、\n|]+")


@cache
def _keys() -> Mapping[str, str]:
    """Map the names of columns to what they hold."""
    return {
        key: name
        for table in ("identity-fields", "case-fields")
        for name in cue_texts(table)
        for keys in word_list(table, name)
        for key in keys
    }


@dataclass(frozen=True, slots=True)
class Record:
    """One case as it was filed: its own fields, and what names a person, by kind."""

    number: int
    fields: Mapping[str, str]
    identity: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def text(self) -> str:
        """Return the narrative: the text itself, or complaint, history and examination together."""
        lines = [self.fields.get("text", ""), *(self.fields.get(each, "") for each in _NARRATIVE)]
        return "\n".join(dict.fromkeys(line for line in lines if line))

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a field that lists several."""
        parts = (part.strip() for part in _LIST.split(self.fields.get(name, "")))
        return tuple(dict.fromkeys(part for part in parts if part))

    def steps(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the reasoning on file: from what to what, and the kinds of both."""
        for name, first, second in (
            ("first steps", "symptom", "pathogenesis"),
            ("second steps", "pathogenesis", "pattern"),
        ):
            for each in self.values(name):
                before, _, after = each.replace("：", ":").partition(":")
                for value in re.split(r"[,，]", after):
                    if before.strip() and value.strip():
                        yield before.strip(), value.strip(), first, second


def read_records(path: Path, limit: int, dropped: Counter[str]) -> Iterator[Record]:
    """Yield the cases of a file in order; ``dropped`` counts fields that we do not know.

    Raises :class:`UsageError` where the file is none of cases.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise FormatError("file ending", ending or "none", ENDINGS)
    if not path.is_file():
        raise UsageError("the file of cases does not exist")  # its name may hold a person's
    text = decode(read_bytes(path, limit), "the file of cases")
    rows: list[Any]
    if ending in {".txt", ".md"}:
        rows = [
            {"text": part} for part in re.split(r"\n\s*(?:-{3,}|={3,})\s*\n", text) if part.strip()
        ]
    elif ending == ".csv":
        rows = _csv(text)
    else:
        rows = _json(text, ending)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise UsageError(f"case {number} is no object with fields")
        yield _record(number, row, dropped)


def _csv(text: str) -> list[Any]:
    try:
        return list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as fault:
        raise UsageError(f"the file of cases is no CSV ({fault})") from None


def _json(text: str, ending: str) -> list[Any]:
    try:
        if ending == ".jsonl":
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        payload = json.loads(text)
    except (ValueError, RecursionError) as fault:
        where = f"line {fault.lineno}" if isinstance(fault, json.JSONDecodeError) else "its depth"
        raise UsageError(f"the file of cases is not JSON ({where})") from None
    if isinstance(payload, dict):
        payload = next((item for item in payload.values() if isinstance(item, list)), [payload])
    if not isinstance(payload, list):
        raise UsageError("the file of cases holds neither an array nor an object")
    return payload


def _record(number: int, row: Mapping[Any, Any], dropped: Counter[str]) -> Record:
    fields: dict[str, str] = {}
    identity: dict[str, str] = {}
    for key, value in row.items():
        name = _keys().get(re.sub(r"[\s_-]+", "_", str(key).strip().lower()))
        term = _stated_value(value)
        if not term:
            continue
        if name is None:
            dropped["field left out"] += 1
        elif name in cue_texts("identity-fields"):
            identity[name] = f"{identity[name]};{term}" if name in identity else term
        else:
            fields[name] = f"{fields[name]}\n{term}" if name in fields else term
    return Record(number, fields, identity)


def _stated_value(value: Any) -> str:
    if isinstance(value, list):
        return ";".join(map(_stated_value, value))
    return "" if value is None or isinstance(value, dict) else str(value).strip()


KINDS = ("symptom", "pathogenesis", "pattern", "disease", "treatment")


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a case and what they speak of; ``concept`` is what bears these very words."""

    words: str
    kind: str
    concept: NamedNode | None = None

    def iri(self, case: NamedNode) -> NamedNode:
        """Name the mention within its case."""
        return resource(f"case-mention/{content_hash(case.value, self.kind, self.words)}")


@dataclass(frozen=True, slots=True)
class Case:
    """One de-identified case; ``classes`` are GB/T 15657 diseases, the higher level first."""

    iri: NamedNode
    text: str
    language: str
    age_group: str = ""
    sex: str = ""
    history: tuple[NamedNode, ...] = ()
    mentions: tuple[Mention, ...] = ()
    steps: tuple[tuple[Mention, Mention], ...] = ()
    classes: tuple[NamedNode, ...] = ()
    answer: str = ""
    chosen_by: str = field(default="", compare=False)  # how the class was found, for the report
