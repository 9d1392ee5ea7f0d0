"""Files made to harm: refused with one clear line, before they fill memory or reach outside."""

import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from shiyi.errors import ShiyiError, TableError, TooLargeError, UsageError
from shiyi.ingest.datasets.dataset import load_dataset
from shiyi.ingest.datasets.limits import decode, lines
from shiyi.ingest.datasets.mapped_tables import read_rows
from shiyi.ingest.datasets.mapping import Table
from shiyi.ingest.documents.books import read_books
from shiyi.ingest.documents.files import read_text
from shiyi.settings import Settings

LIMIT = 1 << 20
TABLE = Table("t.tsv", ("a", "b"), "a")


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """A line of 1 GiB that takes no room on the disk."""
    path = tmp_path / "endless.jsonl"
    with path.open("wb") as file:
        file.write(b'{"text": "')
        file.truncate(1 << 30)
    return path


def grown(before: int) -> int:
    return (int(psutil.Process().memory_info().rss) - before) >> 20


def test_line_of_gibibyte_is_refused_at_its_limit(endless: Path) -> None:
    before = int(psutil.Process().memory_info().rss)
    with pytest.raises(TooLargeError, match="a line of"):
        list(read_books(endless, load_dataset("tcm-ancient-books"), LIMIT))
    with pytest.raises(ShiyiError):
        list(read_rows(endless, TABLE, Settings()))
    text = endless.rename(endless.with_suffix(".txt"))
    with pytest.raises(TooLargeError):
        read_text(text, LIMIT)
    assert grown(before) < 300  # mebibytes


def test_a_collection_that_unpacks_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    monkeypatch.setattr("shiyi.ingest.datasets.limits.UNPACKED", 4 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"x" * 1000 + b"\n") + gzip.compress(b"y\n" * (4 << 20)))
    with pytest.raises(TooLargeError, match="unpacked"):
        list(lines(path, LIMIT))


def pdf(path: Path, content: bytes, filters: bytes = b"/FlateDecode") -> Path:
    """Write a PDF of one page whose content stream is given."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>",
        b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(content), filters, content),
    ]
    out, places = b"%PDF-1.4\n", []
    for number, block in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, block)
    start = len(out)
    out += b"xref\n0 5\n0000000000 65535 f \n"
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start
    path.write_bytes(out)
    return path


@pytest.mark.filterwarnings("ignore")
def test_pdf_with_pages_that_grow_thousandfold_is_refused(tmp_path: Path) -> None:
    before = int(psutil.Process().memory_info().rss)
    bomb = zlib.compress(b" " * (200 << 20), 9)
    with pytest.raises(ShiyiError):
        read_text(pdf(tmp_path / "bomb.pdf", bomb), LIMIT)
    assert grown(before) < 700  # mebibytes


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", b"<<<<<<", b"\x00" * 100, b"{" * 100_000, "\udcff".encode("utf-8", "surrogatepass")],
)  # fmt: skip
@pytest.mark.parametrize("ending", [".txt", ".md", ".html", ".epub", ".pdf"])
@pytest.mark.filterwarnings("ignore")
def test_any_file_is_read_or_refused(tmp_path: Path, ending: str, content: bytes) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(content)
    with suppress(ShiyiError):  # anything else is a crash
        _, document = read_text(path, LIMIT)
        assert document.text.strip()


def test_epub_that_names_file_outside_finds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("META-INF/container.xml", '<c><rootfile full-path="o.opf"/></c>')
        book.writestr("o.opf", '<p><item id="a" href="../../etc/passwd"/><itemref idref="a"/></p>')
    with pytest.raises(UsageError, match="EPUB"):
        read_text(path, LIMIT)


def test_deep_html_is_read_and_endless_html_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<div>" * 2_000 + "甘" + "</div>" * 2_000, "utf-8")
    assert "甘" in read_text(path, 4 * LIMIT)[1].text
    path.write_text("<div>" * 100_000 + "甘" + "</div>" * 100_000, "utf-8")
    with pytest.raises(UsageError, match="2,048 deep"):
        read_text(path, 4 * LIMIT)


@pytest.mark.parametrize(
    "written",
    [
        b"a\tb\n1\n", b"a\tb\n1\t2\t3\n", b"a\n1\n", b"a\tb\tc\n1\t2\t3\n", b"a\tb\n\xff\xff\t\x80\n",
        b"a\tb\n" + b"x" * (2 << 20) + b"\ty\n", b"a\tb\n\x00\x00\n", b"",
    ],
)  # fmt: skip
def test_rows_that_do_not_fit_columns_are_refused(tmp_path: Path, written: bytes) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(written)
    with pytest.raises((TableError, UsageError)):
        list(read_rows(path, TABLE, Settings()))


def test_a_quote_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,"' + b"x\n" * (1 << 20))
    with pytest.raises(TableError, match=r"t\.csv"):
        list(read_rows(path, Table("t.csv", ("a", "b"), "a", quoted=True), Settings()))


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16", "utf-8-sig"])
def test_rare_characters_survive_every_encoding_of_the_field(encoding: str) -> None:
    text = "甘草㐂𠂇，ɡ"
    assert decode(text.encode(encoding), "x") == text


@pytest.mark.parametrize("written", [b"\xff\xfe\x00", b"\xef\xbb\xbf\xff", b"\x81\x20\xff\xff"])
def test_bytes_of_no_encoding_are_refused(written: bytes) -> None:
    with pytest.raises(UsageError):
        decode(written, "x")
