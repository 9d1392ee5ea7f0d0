"""Ingestion as a whole: gate, journal, kills, forgetting; with real stores and processes."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.gate import (
    CANDIDATES,
    QUARANTINE,
    Change,
    Gate,
    ProposedClaim,
    Votes,
    build_change,
)
from shiyi.ingest.retraction import SeenNodes, sweep
from shiyi.linking.labels import LabelIndex
from shiyi.model.claim import Claim, Confidence, Evidence, EvidenceKind, Polarity, Source, Tier
from shiyi.model.iris import graph, resource
from shiyi.model.rdf import DefaultGraph, Literal, NamedNode, Quad, Term, text
from shiyi.ontology.terms import RDF, RDFS, SHIYI
from shiyi.sparql.base.knowledge_base import KnowledgeBase
from shiyi.sparql.store.oxigraph import OxigraphStore, parse_n_quads
from shiyi.sparql.store.port import QuadStore
from tests.support.bases import named_quads, stored_quads
from tests.support.copies import copy_base
from tests.tables import from_table

INDEX = LabelIndex.from_tables(artefact("ontology/concepts"))
SAMPLE = artefact("ingest/tcm-ancient-books/sample.jsonl")
BOOKS = graph("source", "tcm-ancient-books@db0155d")
JOURNAL = graph("journal")
BOOK = Source("book", "书", "Book", Tier.CLASSIC)


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its status."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIYI_INGEST_BATCH", "3")


def shiyi(kb: Path, *words: str) -> Done:
    """Run a command in this process."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as faults:
        status = main(["--kb", str(kb), *words])
    return Done(status, out.getvalue(), faults.getvalue())


def collection(path: Path, books: int) -> Path:
    """Write books that differ in name and share many claims."""
    reply = json.loads(SAMPLE.read_text("utf-8"))
    herbs = ("山楂", "甘草", "当归", "生姜", "山药", "百合", "莲子", "麦芽")
    with path.open("w", encoding="utf-8") as out:
        for number in range(books):
            entries = "".join(
                f"<目录>卷一\r\r\n\n<篇名>{herb}\r\n\r\n内容：味甘，平，无毒。治头痛，咳嗽。\r\n\r\n"
                for herb in herbs
            )
            name = f"{number:03}-书{number}.txt"
            text = f"<篇名>书{number}\r\n书名：书{number}\r\n\r\n{entries}"
            out.write(
                json.dumps(
                    reply
                    | {"file": name, "no": f"{number:03}", "title": f"书{number}", "text": text},
                    ensure_ascii=False,
                )
                + "\n"
            )
    return path


def leave_behind(kb: Path, path: Path) -> tuple[int, set[str]] | None:
    """Return how many passages and which confidences a text leaves, then forget it."""
    if shiyi(kb, "ingest", "text", str(path)).returncode:
        return None
    with KnowledgeBase.open(kb) as base:
        passages = len(list(base.store.match(None, RDF.type, SHIYI.Passage)))
        counted = {text(q.object) for q in base.store.match(None, SHIYI.confidence)}
    assert shiyi(kb, "forget", "text-trial").returncode == 0
    return passages, counted


@pytest.mark.parametrize(
    "option", ["PASSAGE_LEAST=20", "PASSAGE_MOST=220", "RULES=.5", "MAX_TEXT_BYTES=9"]
)
def test_an_option_changes_what_text_leaves(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    path, word = tmp_path / "trial.md", "治头痛，咳嗽，用山楂。"
    path.write_text("# 山楂\n\n味甘，平，无毒。\n\n" + f"{word * 5}\n\n" * 20, "utf-8")
    assert (before := leave_behind(kb, path))
    monkeypatch.setenv(*f"SHIYI_INGEST_{option}".split("="))
    assert leave_behind(kb, path) != before


def test_ingested_book_leaves_accepted_view_unchanged(kb: Path) -> None:
    with KnowledgeBase.open(kb) as base:
        before = set(base.store.match(graph=DefaultGraph()))
    done = shiyi(kb, "ingest", "books", str(SAMPLE), "--json")
    assert done.returncode == 0, done.stderr
    [report] = json.loads(done.stdout)
    assert report["passages"] == 2
    assert report["claims"]["contraindicatedIn"] == 1
    assert report["repaired"] == {"broken lines": 1, "脚气": 1}
    with KnowledgeBase.open(kb) as base:
        store = base.store
        assert set(store.match(graph=DefaultGraph())) == before
        claims = _claims(store)
        assert len(claims) == sum(report["claims"].values())
        for claim in claims:
            assert text(_one(store, claim, SHIYI.status)) == SHIYI.candidate.value
            [evidence] = store.match(claim, SHIYI.evidence, None, CANDIDATES)
            node = evidence.object
            start, end = (
                int(text(_one(store, node, p))) for p in (SHIYI.quoteStart, SHIYI.quoteEnd)
            )
            passage = _one(store, claim, SHIYI.supportedByText)
            assert isinstance(passage, NamedNode)
            [result] = store.match(passage, RDF.value, None, BOOKS)
            assert text(result.object)[start:end] == text(_one(store, node, SHIYI.quote))


def _one(store: QuadStore, subject: Term, predicate: NamedNode) -> NamedNode | Literal:
    assert isinstance(subject, NamedNode)
    [quad] = store.match(subject, predicate, None, CANDIDATES)
    assert isinstance(quad.object, NamedNode | Literal)
    return quad.object


def _claims(store: QuadStore) -> list[NamedNode]:
    quads = store.match(None, RDF.type, SHIYI.Claim, CANDIDATES)
    return [quad.subject for quad in quads if isinstance(quad.subject, NamedNode)]


def test_running_it_again_changes_nothing(kb: Path) -> None:
    first = shiyi(kb, "ingest", "books", str(SAMPLE))
    once = stored_quads(kb)
    journal = (kb / "journal.nq").read_bytes()
    again = shiyi(kb, "ingest", "books", str(SAMPLE), "--resume", "--json")
    assert (first.returncode, again.returncode) == (0, 0)
    assert json.loads(again.stdout)[0]["skipped_batches"] == 1
    assert shiyi(kb, "ingest", "books", str(SAMPLE)).returncode == 0
    assert stored_quads(kb) == once
    assert (kb / "journal.nq").read_bytes() == journal


@pytest.mark.parametrize(("others", "left"), [({"rules"}, True), ({"llm"}, False)])
def test_one_extractor_retracts_nothing_of_another(kb: Path, others: set[str], left: bool) -> None:
    assert shiyi(kb, "ingest", "books", str(SAMPLE)).returncode == 0
    with KnowledgeBase.open(kb, write=True) as base:
        claims = len(_claims(base.store))
        nodes = SeenNodes(
            {
                q.subject
                for q in base.store.match(None, RDF.type, SHIYI.Source, BOOKS)
                if isinstance(q.subject, NamedNode)
            },
            nodes={hash(quad.subject) for quad in base.store.match(graph=BOOKS)},
        )
        gone = sweep(base.writer, load_dataset("tcm-ancient-books"), nodes, others)
        assert claims > 3
        assert (gone["claims"], len(_claims(base.store))) == ((0, claims) if left else (claims, 0))


def test_a_dry_run_counts_and_writes_nothing(kb: Path) -> None:
    before = stored_quads(kb)
    done = shiyi(kb, "ingest", "books", str(SAMPLE), "--dry-run", "--json")
    assert json.loads(done.stdout)[0]["passages"] == 2
    assert stored_quads(kb) == before
    assert not (kb / "journal.nq").exists()


@pytest.fixture(scope="module")
def twelve(built: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[Quad]]:
    """Return twelve books, and what a run over them that nobody kills leaves."""
    folder = tmp_path_factory.mktemp("twelve")
    books = collection(folder / "books.jsonl", 12)
    assert shiyi(copy_base(built, folder / "kb"), "ingest", "books", str(books)).returncode == 0
    return books, stored_quads(folder / "kb")


@pytest.mark.parametrize("size", [1, 60_000, 150_000])
def test_killed_run_can_be_repeated(kb: Path, twelve: tuple[Path, set[Quad]], size: int) -> None:
    books, quads = twelve
    killed = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "shiyi", "--kb", str(kb), "ingest", "books", str(books)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    journal = kb / "journal.nq"
    while killed.poll() is None and (not journal.exists() or journal.stat().st_size < size):
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert shiyi(kb, "ingest", "books", str(books)).returncode == 0
    assert stored_quads(kb) == quads


def test_agreeing_sources_give_one_claim(kb: Path, tmp_path: Path) -> None:
    books = collection(tmp_path / "books.jsonl", 3)
    assert shiyi(kb, "ingest", "books", str(books)).returncode == 0
    with KnowledgeBase.open(kb) as base:
        claims = _claims(base.store)
        assert claims
        for claim in claims:
            assert len(list(base.store.match(claim, SHIYI.evidence, None, CANDIDATES))) == 3
            [number] = base.store.match(claim, SHIYI.confidence, None, CANDIDATES)
            assert text(number.object) == "0.949347"  # 1 - (1 - 0.7 * 0.9) ** 3


def test_forgotten_source_is_removed_and_can_return(kb: Path, tmp_path: Path) -> None:
    before = stored_quads(kb)
    books = collection(tmp_path / "books.jsonl", 3)
    shiyi(kb, "ingest", "books", str(books))
    once = stored_quads(kb)
    done = shiyi(kb, "forget", "books", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["claims"] > 0
    assert stored_quads(kb) == before
    assert shiyi(kb, "ingest", "books", str(books)).returncode == 0
    assert stored_quads(kb) == once
    assert shiyi(kb, "forget", "nothing").returncode == 2


def test_forgetting_one_source_keeps_what_another_says(kb: Path, tmp_path: Path) -> None:
    page = tmp_path / "notes.md"
    page.write_text("# 本草\n\n## 山楂\n\n味甘，平，无毒。不可忘之言也。\n", "utf-8")
    books = collection(tmp_path / "books.jsonl", 1)
    shiyi(kb, "ingest", "books", str(books))
    once = stored_quads(kb)
    assert shiyi(kb, "ingest", "text", str(page)).returncode == 0
    assert stored_quads(kb) != once
    assert shiyi(kb, "index").returncode == 0
    kinds = {path.suffix for path in _files_with(kb, "不可忘之言")}
    assert {".nq", ".safetensors"} < kinds  # in the journal, the indexes and the store
    for _ in range(2):  # what cuts the first short is done by the second
        assert shiyi(kb, "forget", "text-notes").returncode == 0
        assert not _files_with(kb, "不可忘之言")
        assert stored_quads(kb) == once
    assert shiyi(kb, "doctor", "--scrub").returncode == 0


def _files_with(kb: Path, words: str) -> list[Path]:
    files = [path for path in kb.rglob("*") if path.is_file()]
    return [path for path in files if words.encode() in path.read_bytes()]


def _claim(subject: str, predicate: NamedNode, message: str) -> Claim:
    evidence = Evidence(BOOK, Confidence(0.6), "x", EvidenceKind.READ, "引", activity="rules-1")
    return Claim(resource(subject), predicate, resource(message), (evidence,))


def test_nonconforming_claim_is_quarantined_with_report() -> None:
    right = _claim("substance-gouqizi", SHIYI.hasNature, "nature-neutral")
    wrong = _claim("substance-gouqizi", SHIYI.hasNature, "flavour-sweet")
    results = Gate(INDEX).judge([ProposedClaim(right), ProposedClaim(wrong)])
    assert [bool(result.faults) for result in results] == [False, True]
    store = OxigraphStore.in_memory()
    change: Change = build_change(results, Votes(store))
    store.change(add=parse_n_quads("".join(change.added).encode()))
    [good] = store.match(None, RDF.type, SHIYI.Claim, CANDIDATES)
    [bad] = store.match(None, RDF.type, SHIYI.Claim, QUARANTINE)
    assert (good.subject, bad.subject) == (right.iri, wrong.iri)
    assert len(list(store.match(wrong.iri, RDFS.comment, None, QUARANTINE))) == 2


def test_gate_judges_negative_claim_without_asserting_it() -> None:
    claim = _claim("substance-gouqizi", SHIYI.hasNature, "nature-neutral")
    negative = Claim(
        claim.subject, claim.predicate, claim.object, claim.evidence, Polarity.NEGATIVE
    )
    [result] = Gate(INDEX).judge([ProposedClaim(negative)])
    assert not result.faults


def test_a_mapped_table_becomes_candidates(kb: Path) -> None:
    done = shiyi(kb, "ingest", "chp", str(artefact("ingest/chp/sample")), "--json")
    assert done.returncode == 0, done.stderr
    [report] = json.loads(done.stdout)
    assert report["claims"] == {"hasNature": 1, "hasFlavour": 1, "hasMeridianTropism": 1}
    assert report["rows"] == 3


def test_an_unknown_column_is_named(kb: Path, tmp_path: Path) -> None:
    for file in artefact("ingest/chp/sample").iterdir():
        content = file.read_text("utf-8").replace("x_rank", "z_rank")
        (tmp_path / file.name).write_text(content, "utf-8")
    done = shiyi(kb, "ingest", "chp", str(tmp_path))
    assert done.returncode == 2
    assert "unknown column 'z_rank'" in done.stderr
    assert "lacks the column 'x_rank'" in done.stderr


@from_table
def test_bad_input_gets_one_clear_line(kb: Path, words: list[str], message: str) -> None:
    done = shiyi(kb, "ingest", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


ROWS = 36

# kills itself at the n-th change of the run: before the journal has it, once it has it, or once
# the store has it too
CHILD = """
import os, signal, sys
from shiyi.cli import main
from shiyi.ingest import retraction
from shiyi.sparql.base.journal import Journal
from shiyi.sparql.store.oxigraph import OxigraphStore
retraction._PART = 100
when, number, seen = sys.argv[1], int(sys.argv[2]), 0
owner, name = {"before": (Journal, "append"), "between": (Journal, "append"),
               "after": (OxigraphStore, "change")}[when]
plain = getattr(owner, name)
def deadly(self, *given, **named):
    global seen
    if name == "change" and not self._path:
        return plain(self, *given, **named)
    seen += 1
    if seen == number and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    done = plain(self, *given, **named)
    if seen == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return done
setattr(owner, name, deadly)
sys.exit(main(sys.argv[3:]))
"""


def table(folder: Path, rows: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "D.csv").write_text("\n".join(["iDISK_ID,Name,CUI", *rows]) + "\n", "utf-8")
    return folder


def row(number: int, cui: int) -> str:
    return f"D{number:06d},medicine {number},C{cui:07d}"


def ingest(kb: Path, folder: Path) -> None:
    with redirect_stdout(StringIO()):
        assert main(["--kb", str(kb), "ingest", "idisk2", str(folder)]) == 0


def quads_of(kb: Path) -> set[Quad]:
    with KnowledgeBase.open(kb, write=True) as base:  # finishes what the killed run began
        return named_quads(base)


@pytest.fixture(scope="module")
def before(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a base that holds the older file."""
    kb = copy_base(built, tmp_path_factory.mktemp("sweep") / "kb")
    ingest(kb, table(kb.parent / "old", [row(n, n) for n in range(ROWS)]))
    return kb


@pytest.fixture(scope="module")
def newer(before: Path) -> Path:
    """Return the newer file: a third of the rows gone, a third changed."""
    rows = [row(n, n if n % 3 else n + 1000) for n in range(ROWS) if n % 3 < 2]
    return table(before.parent / "new", rows)


@pytest.fixture(scope="module")
def undisturbed(before: Path, newer: Path) -> set[Quad]:
    """Return what a run that nobody kills leaves."""
    kb = before.parent / "undisturbed"
    copy_base(before, kb)
    ingest(kb, newer)
    return quads_of(kb)


@from_table
def test_killed_retraction_is_finished_by_next_run(
    before: Path, newer: Path, undisturbed: set[Quad], tmp_path: Path, when: str, number: int
) -> None:
    kb = tmp_path / "kb"
    copy_base(before, kb)
    killed = subprocess.run(  # noqa: S603 - our own interpreter
        [
            sys.executable,
            "-c",
            CHILD,
            when,
            str(number),
            "--kb",
            str(kb),
            "ingest",
            "idisk2",
            str(newer),
        ],
        check=False,
        capture_output=True,
        env=os.environ | {"PYTHONHASHSEED": "1"},
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    ingest(kb, newer)
    assert quads_of(kb) == undisturbed


def test_newer_file_retracts_what_it_omits(
    before: Path, undisturbed: set[Quad], tmp_path: Path
) -> None:
    content = {str(quad) for quad in undisturbed}
    assert any("C0001003" in each for each in content)
    assert not any("C0000003>" in each for each in content)
    assert any("C0000004>" in each for each in content)
    assert not any("C0000005>" in each for each in content)
    kb = tmp_path / "kb"
    copy_base(before, kb)
    assert quads_of(kb) != undisturbed
