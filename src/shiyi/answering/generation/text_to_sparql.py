"""A language model writes SPARQL; checked, repaired, sandboxed."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, Field

from shiyi.answering.runtime import Runtime
from shiyi.errors import OutsideError, QueryError, ReplyError, TooLargeError
from shiyi.linking.normalization import language_of
from shiyi.model.answer import Mention
from shiyi.model.iris import ID
from shiyi.model.rdf import local_name
from shiyi.ontology.schema import Schema
from shiyi.ontology.terms import PREFIXES
from shiyi.prompts.chat import ChatModel, parse_form
from shiyi.prompts.templates import Prompt
from shiyi.sparql.queries.named import Query
from shiyi.sparql.queries.requests import check_query
from shiyi.sparql.queries.vocabulary_check import VocabularyCheck, list_patterns

REPAIRS: Final = 3
ROWS: Final = 200
_MOST_BYTES: Final = 6_000
_MOST_CELL: Final = 400
_SECONDS: Final = 10.0
_EXAMPLES: Final = (
    "facts-of-goji", "interactions-of-warfarin", "insomnia-constitution-food",
    "cautions-in-pregnancy", "claims-above-confidence",
)  # fmt: skip
_LIMIT: Final = re.compile(r"\bLIMIT\s+(\d+)", re.IGNORECASE)
_DATASET: Final = re.compile(r"(?<![\w:?$@.-])FROM\s+(?:NAMED\s+)?[<\w]", re.IGNORECASE)
_HIDDEN: Final = re.compile(r"<[^<>\s]*>|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*")
_PREFIXED: Final = re.compile(r"(?<![\w?$:<-])([A-Za-z][\w-]*):(?=[A-Za-z_])")
Runner = Callable[[str, float], bytes]  # a query and its seconds, to SPARQL JSON results


class WrittenQuery(BaseModel):
    """The form of a reply to ``write-sparql``."""

    query: str = Field(min_length=1)
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """One reply of the model: what it wrote, and what was wrong with it (nothing: it ran)."""

    written: str
    fault: str = ""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """What was written in each round, what ran, and its rows; no rows where nothing ran."""

    question: str
    language: str
    model: str
    rounds: tuple[Round, ...]
    query: str = ""
    explanation: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    answered: bool = False
    prompt: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the object of ``shiyi ask --sparql --json`` and ``POST /api/ask/sparql``."""
        plain = ["question", "language", "model", "answered", "query", "explanation", "prompt"]
        return {name: getattr(self, name) for name in plain} | {
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "rounds": [{"written": each.written, "fault": each.fault} for each in self.rounds],
        }


def ask_in_sparql(
    runtime: Runtime, question: str, model: ChatModel, run: Runner, language: str | None = None
) -> QueryRun:
    """Have ``model`` write a query for ``question``, repair it up to three times, and run it.

    ``run`` answers in a contained worker. Raises ``OutsideError`` where the model cannot be had
    in the first round; later faults end the rounds and are reported in the last one.
    """
    spoken = language or language_of(question)
    prompt, rounds = Prompt.named("write-sparql"), list[Round]()
    fill = partial(_fill_prompt, prompt, runtime, question, spoken, runtime.linker.link(question))
    checker = VocabularyCheck(runtime.facts.schema, runtime.facts.classes.get)
    done = partial(QueryRun, question, spoken, model.name, prompt=prompt.version)
    for _ in range(1 + REPAIRS):
        try:
            reply = model.complete(fill(rounds), WrittenQuery).text
        except OutsideError as fault:
            if not rounds:
                raise
            rounds.append(Round("", f"the model failed: {fault}"))
            break
        written, explanation = "", ""
        try:
            parsed = parse_form(reply, WrittenQuery)
            written, explanation = parsed.query, parsed.explanation[:_MOST_CELL]
            query = prepare_query(written, checker)
            columns, rows = _rows(run(query, _SECONDS))
        except (QueryError, TooLargeError, ReplyError) as fault:
            rounds.append(Round(written[:_MOST_BYTES], str(fault)[:_MOST_CELL]))
            continue
        rounds.append(Round(written))
        return done(tuple(rounds), query, explanation, columns, rows, True)
    return done(tuple(rounds))


def prepare_query(written: str, checker: VocabularyCheck) -> str:
    """Return the query as it will run: checked, and with a limit.

    Raises :class:`QueryError` that tells the writer what to repair.
    """
    check_query(written, _MOST_BYTES)
    if _DATASET.search(_HIDDEN.sub(lambda hit: "<>" if hit[0][0] == "<" else " ", written)):
        raise QueryError("leave FROM out: the accepted facts are what is asked")
    if faults := checker.faults(list_patterns(written)):
        raise QueryError("; ".join(faults))
    return _declare_prefixes(_limit_rows(written.strip()))


def _declare_prefixes(query: str) -> str:
    """Declare the project's prefixes that a query uses without a declaration."""
    bare = _HIDDEN.sub(" ", query)
    own = {match[1] for match in re.finditer(r"PREFIX\s+([\w-]*):", bare, re.IGNORECASE)}
    used = dict.fromkeys(match[1] for match in _PREFIXED.finditer(bare))
    head = [f"PREFIX {name}: <{PREFIXES[name]}>" for name in used if name in PREFIXES.keys() - own]
    return "\n".join([*head, query])


def _limit_rows(query: str) -> str:
    """Keep the outermost LIMIT to ROWS, or add one; ASK has none."""
    end = query.rfind("}") + 1
    tail = _HIDDEN.sub(lambda hit: hit[0] if hit[0][0] != "#" else "", query[end:])
    if re.match(r"(?:\s*(?:PREFIX|BASE)\b[^\n]*?<[^>]*>)*\s*ASK\b", query, re.IGNORECASE):
        return query
    if match := _LIMIT.search(tail):
        least = min(int(match[1]), ROWS)
        return query[:end] + tail[: match.start()] + f"LIMIT {least}" + tail[match.end() :]
    return f"{query[:end]}{tail.rstrip()}\nLIMIT {ROWS}"


def _rows(body: bytes) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    reply = json.loads(body)
    if "boolean" in reply:
        return ("answer",), ((str(reply["boolean"]).lower(),),)
    columns = tuple(reply["head"].get("vars", ()))
    bindings = reply["results"]["bindings"][:ROWS]
    return columns, tuple(tuple(_cell(row.get(name)) for name in columns) for row in bindings)


def _cell(term: dict[str, Any] | None) -> str:
    if term is None:
        return ""
    value = term["value"]
    if isinstance(value, dict):  # a triple term
        return " ".join(_cell(value[end]) for end in ("subject", "predicate", "object"))
    return str(value)[:_MOST_CELL]


def _fill_prompt(
    prompt: Prompt,
    runtime: Runtime,
    question: str,
    language: str,
    mentions: Sequence[Mention],
    rounds: Sequence[Round],
) -> str:
    description = _Description.of(runtime)
    things = [
        f"- id:{m.iri.removeprefix(ID)} ({m.kind}): {m.label('zh')} / {m.label('en')}"
        for m in mentions
        if m.iri
    ]
    faults = [f"Your query:\n{each.written}\nFault: {each.fault}" for each in rounds if each.fault]
    return prompt.fill(
        question=question.replace("<", "‹").replace(">", "›"),
        language="Chinese" if language == "zh" else "English",
        limit=str(ROWS),
        things="\n".join(dict.fromkeys(things)) or "none was recognised",
        classes=description.classes,
        properties=description.properties,
        examples=description.examples,
        faults="\n\n".join(faults) or "nothing yet",
    )


@dataclass(frozen=True, slots=True)
class _Description:
    """The base in the terms of VoID: class and property partitions, and queries that work."""

    classes: str
    properties: str
    examples: str = field(repr=False)

    @classmethod
    def of(cls, runtime: Runtime) -> "_Description":
        facts, schema = runtime.facts, runtime.facts.schema
        things = Counter(facts.classes.values())
        used = Counter(
            local_name(f.predicate.value) for row in facts.by_subject.values() for f in row
        )
        classes = (f"- shiyi:{name} ({n})" for name, n in sorted(things.items()))
        properties = (
            f"- shiyi:{name}: {_ends(schema.property(name).domain)} -> {_range(schema, name)} ({n})"
            for name, n in sorted(used.items())
            if name in schema.properties
        )
        examples = (
            f"Question: {query.question_en}\n{_bare(query.text)}"
            for query in map(Query.named, _EXAMPLES)
        )
        return cls("\n".join(classes), "\n".join(properties), "\n\n".join(examples))


def _range(schema: Schema, name: str) -> str:
    known = schema.property(name)
    return _ends(known.range) if known.is_object else "text"


def _ends(classes: frozenset[str]) -> str:
    return "|".join(sorted(classes)) or "any"


def _bare(text: str) -> str:
    results = (line for line in text.splitlines() if not line.startswith(("#", "PREFIX")))
    return "\n".join(results).strip()
