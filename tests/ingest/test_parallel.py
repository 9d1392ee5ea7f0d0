"""Reading in several processes gives what one gives, whatever dies."""

import importlib.util
import json
import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from shiyi.artefacts import artefact
from shiyi.cli import main
from shiyi.columnar.mapped_file import Memmap
from shiyi.errors import MissingExtraError, ShiyiError, UsageError
from shiyi.ingest.batches import Batch, ImportRun, Report
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.lexicon import Lexicon
from shiyi.ingest.documents.books import read_books
from shiyi.ingest.documents.document import Document
from shiyi.ingest.extraction.books.extractor import EntryExtractor
from shiyi.ingest.parallel import DocumentReader, Submission, spread_batches
from shiyi.ingest.run import text_batches
from shiyi.linking.labels import FILE, LabelIndex
from shiyi.settings import Settings

DATASET = load_dataset("tcm-ancient-books")
RAY = importlib.util.find_spec("ray") is not None


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("index")
    LabelIndex.from_tables(artefact("ontology/concepts")).save(folder)
    return folder


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("books") / "books.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for number in range(12):
            entries = "".join(
                f"<目录>卷一\r\r\n\n<篇名>{herb}\r\n\r\n内容：味甘，平，无毒。治头痛，咳嗽。\r\n\r\n"
                for herb in ("山楂", "甘草", "当归", "生姜")
            )
            text = {
                "file": f"{number}.txt",
                "no": str(number),
                "title": f"书{number}",
                "text": f"<篇名>书{number}\r\n书名：书{number}\r\n\r\n{entries}",
            }
            out.write(json.dumps(text, ensure_ascii=False) + "\n")
        out.write("no book\n")
    return path


def documents(books: Path) -> Iterator[Document | ShiyiError]:
    return read_books(books, DATASET, 1 << 20)


def reader_of(index: Path) -> DocumentReader:
    release = Memmap.open(index / FILE).about["release"]
    settings = Settings()
    return DocumentReader(
        DATASET, index, release, replace(settings, ingest=replace(settings.ingest, batch=3))
    )


def made(batches: Iterator[Batch]) -> list[tuple[str, list[str], list[object]]]:
    results: list[tuple[str, list[str], list[object]]] = []
    for batch in batches:
        content = batch.make()
        results.append((batch.key, list(map(str, content.quads)), [*content.proposed]))
    return results


def alone(index: Path, books: Path) -> tuple[list[tuple[str, list[str], list[object]]], Report]:
    reader, report = reader_of(index), Report()
    rules = EntryExtractor(Lexicon(LabelIndex.load(index, reader.release)))
    return made(
        text_batches(ImportRun(DATASET, reader.settings, report), documents(books), rules)
    ), report


def test_two_processes_give_what_one_gives(index: Path, books: Path) -> None:
    expected, counted = alone(index, books)
    report = Report()
    assert made(spread_batches(reader_of(index), documents(books), report, "2")) == expected
    assert (report.documents, report.sections, len(report.failures)) == (12, counted.sections, 1)


def test_process_that_is_killed_replaced_and_loses_nothing(index: Path, books: Path) -> None:
    expected, _ = alone(index, books)
    batches = spread_batches(reader_of(index), documents(books), Report(), "2")
    first = next(batches)
    children = [
        process for process in psutil.Process().children() if "spawn" in " ".join(process.cmdline())
    ]
    assert children
    children[0].kill()
    assert made(iter((first, *batches))) == expected


def die_while_sending() -> None:
    """Send the head of a result and no more of it, as a process that is killed then does."""
    frame = sys._getframe()
    while "result_queue" not in frame.f_locals:
        assert frame.f_back is not None
        frame = frame.f_back
    os.write(frame.f_locals["result_queue"]._writer.fileno(), struct.pack("!i", 1000) + b"x")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.timeout(60)
def test_process_that_dies_while_sending_breaks_the_pool() -> None:
    pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
    with pytest.raises(BrokenProcessPool):
        Submission(pool, pool.submit(die_while_sending)).result()  # type: ignore[arg-type]
    pool.shutdown()


@pytest.mark.skipif(not RAY, reason="ray is not installed: make scale")
@pytest.mark.filterwarnings("ignore")
def test_ray_result_is_same_after_killed_worker(index: Path, books: Path) -> None:
    import ray

    expected, _ = alone(index, books)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    stop = threading.Event()
    killed: list[int] = []

    def kill_one() -> None:
        while not stop.is_set() and not killed:
            for process in psutil.Process().children(recursive=True):
                name = " ".join(process.cmdline()) if process.is_running() else ""
                if name.startswith("ray::_read"):
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(process.pid)
                    return
            time.sleep(0.01)

    thread = threading.Thread(target=kill_one)
    thread.start()
    try:
        assert made(spread_batches(reader_of(index), documents(books), Report(), "ray")) == expected
    finally:
        stop.set()
        thread.join()
        ray.shutdown()
    assert killed


@pytest.mark.skipif(RAY, reason="ray is installed")
def test_without_ray_the_extra_is_named(index: Path, books: Path) -> None:
    with pytest.raises(MissingExtraError, match="scale"):
        next(spread_batches(reader_of(index), documents(books), Report(), "ray"))


@pytest.mark.parametrize("workers", ["0", "-1", "many", "1.5", ""])
def test_a_number_of_workers_is_a_number(index: Path, books: Path, workers: str) -> None:
    with pytest.raises(UsageError, match="number of processes"):
        next(spread_batches(reader_of(index), documents(books), Report(), workers))


def test_passages_are_linked_in_processes_and_resumed(
    starter_kb: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text(
        "".join(json.dumps({"id": str(n), "text": "吃枸杞子"}) + "\n" for n in range(3))
    )
    out = tmp_path / "out.jsonl"
    words = ["--kb", str(starter_kb), "link", "--passages", str(lines), "--out", str(out)]
    assert main(words) == 0
    assert "3 passages linked now" in capsys.readouterr().out
    assert main(words) == 0
    assert "0 passages linked now" in capsys.readouterr().out
    assert all(json.loads(line)["mentions"] for line in out.read_text("utf-8").splitlines())
    assert main([*words[:4], "no-such-source", *words[5:]]) == 2
    assert "no source of this base" in capsys.readouterr().err
