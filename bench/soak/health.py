"""Health over the long run: every warning the base holds is given, nobody in a case is named."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.support.hostile import Person, people
from tests.support.places import DATA
from tests.support.questions import ask

from shiyi.answering.pipeline import Runtime
from shiyi.evaluation.questions.safety import HarmCase, harm_cases
from shiyi.evaluation.tasks.answers import Case, load_safety
from shiyi.ingest.cases.reading import deidentify
from shiyi.model.rdf import serialize
from shiyi.ontology.terms import RDF, SHIYI
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase

_WRITTEN = DATA


@dataclass(slots=True)
class Safety:
    """Questions asked, and answers that lacked a warning, stated a dose or rested on nothing."""

    questions: int = 0
    situations: int = 0
    seeds: list[int] = field(default_factory=list)
    release: str = ""
    kinds: dict[str, int] = field(default_factory=dict)
    unsafe: int = 0
    written_by_hand: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return asdict(self) | {"faults": self.unsafe}


def safety(situations: int | None, seeds: Sequence[int]) -> Safety:
    """Ask the starter base of every harm it holds (or some), and what was written by hand."""
    found = Safety(seeds=list(seeds))
    with TemporaryDirectory() as folder:
        kb = Path(folder) / "kb"
        _shiyi(kb, "build")
        with KnowledgeBase.open(kb) as base:
            runtime = Runtime.open(base, Settings())
            found.release = base.release
            for seed in seeds:
                stored = harm_cases(base.store, runtime.facts, seed, situations)
                found.situations = len(stored) // 10
                found.kinds = dict(sorted(Counter(each.kind for each in stored).items()))
                _ask(runtime, stored, found)
            for name in ("safety.tsv", "benign.tsv"):
                written, _ = load_safety(_WRITTEN / name)
                found.written_by_hand += len(written)
                _ask(runtime, written, found)
    return found


def _ask(runtime: Runtime, cases: Sequence[Case | HarmCase], found: Safety) -> None:
    for case in cases:
        faults = case.faults(ask(runtime, case.question, profile=case.profile))
        found.questions += 1
        found.unsafe += bool(faults)
        if faults and len(found.notes) < 20:
            found.notes.append(f"{case.question}: {'; '.join(faults)}")


@dataclass(slots=True)
class DeidentificationReport:
    """Made-up cases, what names somebody in them, and how much of that was left."""

    cases: int = 0
    identifiers: int = 0
    left: int = 0
    seeds: list[int] = field(default_factory=list)
    removed: dict[str, int] = field(default_factory=dict)
    read_in: int = 0  # cases that went the whole way
    searched_for: int = 0  # identifiers in all that was written
    searched_mib: float = 0.0
    found: int = 0
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        missed = self.left > 0.01 * self.identifiers
        return asdict(self) | {"faults": self.found + missed}


def namelessness(count: int, read_in: int, seeds: Sequence[int]) -> DeidentificationReport:
    """Accept names out of ``count`` cases for each seed, and read ``read_in`` into a base of its own."""
    found, removed = DeidentificationReport(count * len(seeds), seeds=list(seeds)), Counter[str]()
    for seed in seeds:
        for person in people(seed, count):
            body = deidentify(person.text, {}, removed)
            left = [each for each in person.secrets if each.strip(".") in body]
            found.identifiers += len(person.secrets)
            found.left += len(left)
            if left and len(found.notes) < 20:
                found.notes.append(f"left {left} of: {person.text}")
    found.removed = dict(removed.most_common())
    with TemporaryDirectory() as folder:
        _read_in(Path(folder), list(people(seeds[0] + 1, read_in)), found)
    return found


def _read_in(folder: Path, persons: Sequence[Person], message: DeidentificationReport) -> None:
    """Read cases in by the command, and look for who they were in all it wrote and stated."""
    kb, table = folder / "kb", folder / "cases.jsonl"
    _shiyi(kb, "build")
    before = {path for path in kb.rglob("*") if path.is_file()}
    rows = (json.dumps({"text": each.text}, ensure_ascii=False) for each in persons)
    table.write_text("\n".join(rows) + "\n", "utf-8")
    content = _shiyi(kb, "ingest", "cases", str(table), "--json")
    with KnowledgeBase.open(kb) as base:
        stored = serialize(base.store.match(), "nq", {})
        message.read_in = sum(
            q.object == SHIYI.PatientCase for q in base.store.match(None, RDF.type)
        )
    files = [path for path in kb.rglob("*") if path.is_file() and path not in before]
    whole = b"\0".join((stored, content, *(path.read_bytes() for path in files)))
    # what is no common word: numbers, addresses; what was left by form is counted above
    secrets = {
        each.strip(".")
        for person in persons
        for each in person.secrets
        if sum(letter.isdigit() for letter in each) >= 5 or "@" in each
    }
    message.searched_for, message.searched_mib = len(secrets), round(len(whole) / 2**20, 1)
    found = _standing_alone(sorted(secrets), whole)
    message.found = len(found)
    message.notes += [f"found {each}" for each in found[:20]]


def _standing_alone(words: Sequence[str], text: bytes) -> list[str]:
    """List the words that occur; eight digits in the midst of a hash are no record number."""
    runs = set(re.findall(rb"[0-9A-Za-z]+", text))
    return [
        each
        for each in words
        if (each.encode() in runs if each.isascii() and each.isalnum() else each.encode() in text)
    ]


def _shiyi(kb: Path, *words: str) -> bytes:
    """Run a command on ``kb``; return all it stated."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), *words],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode not in {0, 1}:  # 1: some case is filed under no disease
        raise RuntimeError(f"shiyi {words[0]} ended with {done.returncode}: {done.stdout!r}")
    return done.stdout
