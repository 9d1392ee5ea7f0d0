"""Texts become trees and passages: whole, in place, within limits."""

import json
import lzma
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.artefacts import artefact
from shiyi.errors import FormatError, ShiyiError, TooLargeError, UsageError
from shiyi.ingest.datasets.dataset import dataset_names, load_dataset, load_repairs
from shiyi.ingest.documents.books import headings_of, read_books
from shiyi.ingest.documents.document import Document, build_tree, split_passages, text_length
from shiyi.ingest.documents.files import html_text, read_text
from shiyi.model.claim import Source, Tier

LIMIT = 1_000_000
BOOK = Source("b", "样书", "Sample", Tier.CLASSIC)
SAMPLE = artefact("ingest/tcm-ancient-books/sample.jsonl")
REPAIRS = load_repairs("tcm-ancient-books")

MARKUP = st.sampled_from(
    ["<目录>", "<篇名>", "\\", "\r\n", "\n", "\r\r\n\n", "。", "，", "味甘", "香港脚", "内容：", " ", "（", "）", "|a|b|\n"]
)  # fmt: skip


@given(st.lists(MARKUP | st.text(max_size=30), max_size=60).map("".join))
def test_pieces_of_any_tagged_book_put_together_text(text: str) -> None:
    headings, _ = headings_of(text, "样书")
    document = Document("a.txt", BOOK, "zh", text, headings, REPAIRS, ("内容：",))
    tree = build_tree(document, 20, 30)
    ends = [0, *(end for each in tree.passages for end in (each.start, each.end)), len(text)]
    assert ends == sorted(ends)  # in order, within the text, none over another
    assert len({passage.iri for passage in tree.passages}) == len(tree.passages)


@given(st.lists(st.text("甘苦辛咸寒热", min_size=1, max_size=80), min_size=1, max_size=30))
def test_no_sentence_is_cut_and_passages_keep_length(sentences: list[str]) -> None:
    text = "。".join(sentences) + "。"
    spans = list(split_passages(text, "zh", 50, 100))
    for start, end in spans:
        assert text[end - 1] == "。"
        size = text_length(text[start:end], "zh")
        assert size <= 150
        assert size >= 50 or end == len(text) or size + 81 > 100


def test_a_sentence_longer_than_a_passage_stays_whole() -> None:
    text = "短句。" + "长" * 900 + "。" + "短句。"
    assert ("长" * 900 + "。") in [text[a:b] for a, b in split_passages(text, "zh", 200, 300)]


def test_a_table_is_never_cut() -> None:
    table = "".join(f"| herb {i} | it is warm. It is sweet. |\n" for i in range(100))
    text = "One sentence. Another sentence.\n\n" + table + "\nThe end of it. Really."
    spans = [text[a:b] for a, b in split_passages(text, "en", 20, 40)]
    assert "".join(spans) == text
    assert any(table in span for span in spans)


def test_an_abbreviation_ends_no_sentence() -> None:
    text = "Herbs, e.g. Ginger, warm. Dr. Li agrees. No more."
    spans = [text[a:b] for a, b in split_passages(text, "en", 1, 3)]
    assert not any(span.rstrip().endswith(("e.g.", "Dr.")) for span in spans)


def _sample() -> Document:
    [book] = read_books(SAMPLE, load_dataset("tcm-ancient-books"), LIMIT)
    assert isinstance(book, Document)
    return book


def test_tagged_book_becomes_chapters_sections_and_repaired_passages() -> None:
    book = _sample()
    tree = build_tree(book, 200, 300)
    assert [section.path for section in tree.sections][-1] == ("样书", "卷一", "草部", "甘草")
    first = tree.passages[0]
    assert first.section.title == "山楂"
    assert "治脚气，腹痛" in first.text
    assert "香港脚" in book.text[first.start : first.end]
    assert tree.repaired == {"broken lines": 1, "脚气": 1}
    assert book.source.year == "1800"
    assert "内容" not in first.text


def test_titles_are_repaired_and_lost_character_is_marked() -> None:
    text = "<篇名>香港脚\r\n\r\n内容：甲。\r\n<篇名> 鱼\r\n\r\n内容：乙。"
    headings, _ = headings_of(text, "样书")
    repairs = load_repairs("tcm-ancient-books")
    tree = build_tree(Document("a", BOOK, "zh", text, headings, repairs, ("内容：",)), 200, 300)
    assert [passage.section.title for passage in tree.passages] == ["脚气", "□鱼"]
    assert tree.repaired == {"脚气": 1}


def test_equal_text_has_equal_passages_after_change() -> None:
    book = _sample()
    once = {passage.iri for passage in build_tree(book, 200, 300).passages}
    again = {passage.iri for passage in build_tree(_sample(), 200, 300).passages}
    document = Document(
        book.name,
        book.source,
        "zh",
        book.text.replace("主咳嗽", "主头痛"),
        headings_of(book.text, "样书")[0],
        book.repairs,
        book.skipped,
    )
    after = {passage.iri for passage in build_tree(document, 200, 300).passages}
    assert once == again
    assert len(once & after) == len(once) - 1


def test_faulty_line_reported_and_next_book_read(tmp_path: Path) -> None:
    path = tmp_path / "books.jsonl.xz"
    good = SAMPLE.read_text("utf-8")
    lines = ["{broken\n", '{"title": "x"}\n', '{"title": "x", "text": 5}\n', good]
    path.write_bytes(lzma.compress("".join(lines).encode()))
    read = list(read_books(path, load_dataset("tcm-ancient-books"), LIMIT))
    assert [isinstance(each, ShiyiError) for each in read] == [True, True, True, False]


def test_line_past_limit_refused_before_it_fills_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl.xz"
    packer = lzma.LZMACompressor(preset=0)
    with path.open("wb") as out:
        for _ in range(50):
            out.write(packer.compress(b"x" * LIMIT))
        out.write(packer.flush())
    with pytest.raises(TooLargeError, match="1,000,000"):
        list(read_books(path, load_dataset("tcm-ancient-books"), LIMIT))


def test_a_truncated_archive_is_damaged_not_short(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl.xz"
    path.write_bytes(lzma.compress(SAMPLE.read_bytes() * 50)[:-20])
    with pytest.raises(UsageError, match="damaged"):
        list(read_books(path, load_dataset("tcm-ancient-books"), LIMIT))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_plain_text_is_read_in_encodings_of_field(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("第一章 甘草\n味甘，平，无毒。".encode(encoding))
    dataset, document = read_text(path, LIMIT)
    assert document.language == "zh"
    assert [heading.path[-1] for heading in document.headings] == ["第一章 甘草"]
    assert dataset.name == "text-a"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xff\xfa\xff\x81\xff" * 10)
    with pytest.raises(UsageError, match="UTF-8"):
        read_text(path, LIMIT)


def test_markdown_headings_nest_and_code_holds_none(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# Book\n\nIt is.\n\n## One\n\nText.\n\n```\n# no\n```\n", "utf-8")
    _, document = read_text(path, LIMIT)
    assert [heading.path for heading in document.headings] == [("Book",), ("Book", "One")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_markdown_headings_lie_where_they_stand(tmp_path: Path, newline: str) -> None:
    path = tmp_path / "a.md"
    text = "甘草\n===\n\n味甘。\n\n## 主治 ##\n\n> # quoted\n\n脾虚。\n\n## 禁忌"
    path.write_bytes(text.replace("\n", newline).encode())
    _, document = read_text(path, LIMIT)
    spans = [document.text[heading.start : heading.end] for heading in document.headings]
    assert [span.split() for span in spans] == [
        ["甘草", "==="],
        ["##", "主治", "##"],
        ["##", "禁忌"],
    ]
    assert [heading.path[-1] for heading in document.headings] == ["甘草", "主治", "禁忌"]


@given(
    st.lists(
        st.sampled_from(["<h1>", "</h1>", "<h2>", "</h2>", "<p>", "<td>", "<script>", "甘", " ", "&amp;", "<"]),
        max_size=40,
    ).map("".join)
)  # fmt: skip
def test_headings_of_any_markup_are_in_order(markup: str) -> None:
    _, text, headings = html_text(f"<title>T</title>{markup}", "x")
    end = 0
    for heading in headings:
        assert end <= heading.start < heading.end <= len(text)
        assert text[heading.start : heading.end].strip() == heading.path[-1]
        end = heading.end


def test_html_keeps_what_is_read_and_drops_scripts(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text(
        "<html><head><title>T</title><style>p{}</style></head><body><h1>H</h1><script>evil()"
        "</script><p>A &amp; b.</p><table><tr><td>x</td><td>y</td></tr></table></body>",
        "utf-8",
    )
    _, document = read_text(path, LIMIT)
    assert "A & b." in document.text
    assert "evil" not in document.text
    assert "|x |y |" in document.text
    assert [each.path for each in document.headings] == [("T", "H")]
    [heading] = document.headings
    assert document.text[heading.start : heading.end].strip() == "H"


CONTAINER = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="o/p.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PACKAGE = """<opf:package xmlns:opf="http://www.idpf.org/2007/opf" version="3.0">
<opf:metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>食书</dc:title></opf:metadata>
<opf:manifest><opf:item id="e" href="the%20end.xhtml"/><opf:item id="c" href="c.xhtml"/></opf:manifest>
<opf:spine><opf:itemref idref="c"/><opf:itemref idref="e"/></opf:spine></opf:package>
"""


def _epub(path: Path, chapter: str, package: str = "") -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("o/p.opf", package + PACKAGE)
        book.writestr("o/the end.xhtml", "<p>尾声。</p>")
        book.writestr("o/c.xhtml", chapter)


def test_epub_is_read_in_order_of_its_spine(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    _epub(path, "<h1>甘草</h1><p>味甘，平。</p>")
    dataset, document = read_text(path, LIMIT)
    assert dataset.source.title_zh == "食书"
    assert document.headings[0].path == ("食书", "甘草")
    assert document.text.index("味甘，平。") < document.text.index("尾声。")


def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.epub"
    _epub(path, "甘" * 1_000_000)
    with pytest.raises(UsageError, match="grows"):
        read_text(path, LIMIT)
    with pytest.raises(TooLargeError, match="unpacked"):
        read_text(path, 1000)


def test_xml_entities_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.epub"
    _epub(path, "<p>x</p>", '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>')
    with pytest.raises(UsageError, match="entities"):
        read_text(path, LIMIT)


def test_pdf_without_text_is_reported_as_pictures(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    path = tmp_path / "a.pdf"
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.write(path)
    with pytest.raises(UsageError, match="no text"):
        read_text(path, LIMIT)
    path.write_bytes(b"%PDF-1.4 nonsense")
    with pytest.raises(UsageError, match="readable PDF"):
        read_text(path, LIMIT)


def test_an_unknown_ending_names_those_we_read(tmp_path: Path) -> None:
    path = tmp_path / "a.docx"
    path.write_bytes(b"x")
    with pytest.raises(FormatError, match="epub"):
        read_text(path, LIMIT)


def test_source_descriptions_have_licence_and_digest() -> None:
    assert {"tcm-ancient-books", "chp", "mskcc", "doid", "mondo"} <= set(dataset_names())
    for name in dataset_names():
        dataset = load_dataset(name)
        assert dataset.source.title_zh, name
        assert dataset.source.title_en, name
        assert dataset.source.licence, name
        assert dataset.version, name
        # releases that a user fetches: theirs are described by their own digests
        assert dataset.digests or name in {"dsld", "lnhpd", "umls"}, name
        assert all(len(digest) == 64 for digest in dataset.digests.values()), name


def test_shipped_sample_is_one_json_object_line() -> None:
    assert json.loads(SAMPLE.read_text("utf-8"))["title"] == "样书"
