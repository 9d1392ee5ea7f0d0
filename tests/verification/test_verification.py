"""Pointers hold while their corpus does; claims get evidence from entries that say the same."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from shiyi.errors import TableError, UsageError
from shiyi.ingest.tables.evidence import PointerRow, read_pointers
from shiyi.ingest.tables.starter import Starter
from shiyi.model.rdf import local_name, text
from shiyi.ontology.schema import Schema
from shiyi.sparql.base.digests import file_digest
from shiyi.verification.comparison import Comparison, read_words, verify_claims
from shiyi.verification.corpora import Corpus, Registry, Table
from shiyi.verification.names import Subjects
from shiyi.verification.pointers import check, write_pointers
from shiyi.verification.readers import Reader, Verdict
from tests.tables import from_table

HERBS = (
    "key\tname\talias\tnature\tefficacy\tcaution\n"
    "h/1\t丁香\t\t味辛，性温；归脾、胃经\t温中降逆，散寒止痛\t热证忌服。\n"
    "h/2\t丁香油\t丁香\t味辛，性热\t散寒止痛\t\n"
    "h/3\t薏苡仁\t\t甘，温\t健脾\t孕妇慎用。\n"
)


@pytest.fixture(scope="module")
def reader(starter: Starter) -> Reader:
    return Reader(starter.concepts, starter.broader, Schema.load())


def corpus(folder: Path, kind: str = "row") -> Corpus:
    folder.mkdir(exist_ok=True)
    (folder / "herbs.tsv").write_text(HERBS, encoding="utf-8")
    rules: Mapping[str, Mapping[str, tuple[str, ...]]] = {
        "values": {"hasNature": ("nature",), "hasMeridianTropism": ("nature",)},
        "mentions": {"hasEfficacy": ("efficacy",), "hasFlavour": ("nature",)},
        "cautions": {"cautionIn": ("caution",)},
    }
    digest = hashlib.sha256(HERBS.encode()).hexdigest()
    kinds = ("MFHSubstance", "Herb", "Food")
    table = Table(
        file="herbs.tsv",
        digest=digest,
        key=("key",),
        names=("name", "alias"),
        kinds=kinds,
        rules=rules,
        complete=("hasFlavour",),
    )
    return little("little", kind, table)


def little(name: str, kind: str, table: Table) -> Corpus:
    given = {"source": "lffy", "kind": kind, "version": "1", "origin": f"example.org/{name}"}
    return Corpus.model_validate({"name": name, "tables": (table,), **given})


def verified(starter: Starter, tmp_path: Path, kind: str = "row") -> tuple[Registry, Path]:
    one = corpus(tmp_path / "texts", kind)
    registry = Registry(tmp_path / "kb", {"little": one})
    registry.add("little", tmp_path / "texts")
    out = tmp_path / "evidence"
    out.mkdir()
    verify_claims(Comparison(starter), registry, out=out)
    return registry, out


def found(out: Path) -> dict[tuple[str, str, str], PointerRow]:
    return {row.claim: row for row in read_pointers(out)}


def test_an_entry_supports_contradicts_or_is_silent(starter: Starter, tmp_path: Path) -> None:
    rows = found(verified(starter, tmp_path)[1])
    assert rows["substance-dingxiang", "hasNature", "nature-warm"].verdict == "supports"
    assert rows["substance-dingxiang", "hasNature", "nature-warm"].key == "h/1"
    other = next(
        row
        for (subject, name, _), row in rows.items()
        if subject == "substance-yiyiren" and name == "hasNature"
    )
    assert other.verdict == "contradicts"
    assert ("substance-dingxiang", "hasMeridianTropism", "meridian-lung") in rows
    assert rows["substance-yiyiren", "hasFlavour", "flavour-sweet"].verdict == "supports"
    assert rows["substance-yiyiren", "hasFlavour", "flavour-bland"].verdict == "contradicts"
    assert not any(row.key == "h/2" for row in rows.values())
    assert ("substance-yiyiren", "cautionIn", "population-pregnant") in rows


def test_a_read_pointer_names_the_sentence_alone(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path, "read")
    words = {row.claim: text for row, text in read_words(read_pointers(out), registry)}
    assert words["substance-yiyiren", "cautionIn", "population-pregnant"] == "孕妇慎用。"
    assert all(row.end for row in read_pointers(out))


def test_pointers_that_hold_pass_and_moved_one_fails(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path, "read")
    report = check(registry, out)
    assert report.total == len(found(out)) > 5
    assert report.faults == []
    file = out / "little.tsv"
    line = next(x for x in file.read_text("utf-8").splitlines() if "h/3" in x)
    start, end, digest = line.split("\t")[-3:]
    for change, fault in (
        (line.replace(digest, "0" * 16), "have the digest"),
        (line.replace(f"\t{start}\t{end}\t", "\t0\t999\t"), "lies outside"),
        (line.replace("h/3", "h/9"), "no such row"),
    ):
        text = file.read_text("utf-8")
        file.write_text(text.replace(line, change), encoding="utf-8")
        (message,) = check(registry, out).faults
        assert fault in message
        assert "little.tsv:" in message
        file.write_text(text, encoding="utf-8")


def test_entries_of_a_book_keep_their_place(starter: Starter, tmp_path: Path) -> None:
    text = "<篇名>序\n内容：无。\n<篇名>丁香\n内容：味辛，温，无毒。主治呃逆。\n"
    book = json.dumps({"file": "b.txt", "text": text}, ensure_ascii=False)
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "books.jsonl").write_text(f"{book}\n", encoding="utf-8")
    table = Table(
        file="books.jsonl",
        digest=file_digest(folder / "books.jsonl"),
        key=("file",),
        names=("title",),
        kinds=("MFHSubstance",),
        rules={"properties": {"hasNature": ("text",)}},
        entries=r"<篇名>(?P<title>[^\n]*)\n(?P<text>[^<]*)",
    )
    one = little("books", "read", table)
    registry = Registry(tmp_path / "kb", {"books": one})
    registry.add("books", folder)
    out = tmp_path / "evidence"
    out.mkdir()
    verify_claims(Comparison(starter), registry, out=out)
    ((row, words),) = read_words(read_pointers(out), registry)
    assert row.claim == ("substance-dingxiang", "hasNature", "nature-warm")
    assert words == text[row.start : row.end] == "内容：味辛，温，无毒。"
    assert check(registry, out).faults == []


def test_a_corpus_of_another_version_is_refused(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path)
    file = tmp_path / "texts/herbs.tsv"
    file.write_text(HERBS.replace("温", "凉"), encoding="utf-8")
    with pytest.raises(TableError, match="another version"):
        registry.add("little", tmp_path / "texts")
    with pytest.raises(TableError, match="another version"):
        verify_claims(Comparison(starter), registry, out=out)
    assert "another version" in check(registry, out).faults[0]
    file.unlink()
    assert "is missing" in check(registry, out).faults[0]


def test_corpora_are_added_listed_and_removed(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path)
    assert registry.paths() == {"little": (tmp_path / "texts").resolve()}
    registry.remove("little")
    assert registry.paths() == {}
    result = check(registry, out)
    assert (result.total, result.faults) == (0, [])
    assert result.missing["little"] == len(found(out))
    for fault in (lambda: registry.remove("little"), lambda: registry.add("none", tmp_path)):
        with pytest.raises(UsageError):
            fault()


def test_a_run_without_changes_is_skipped(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path)
    before = file_digest(out / "little.tsv")
    outcome = verify_claims(Comparison(starter), registry, out=out)
    assert outcome.skipped == ["little"]
    assert len(outcome.rows["little"]) == len(found(out))
    sampled = verify_claims(Comparison(starter, sample=50), registry, out=out)
    assert not sampled.skipped
    one = verify_claims(Comparison(starter, "hasEfficacy"), registry, out=out)
    assert {row.predicate for row in one.rows["little"]} == {"hasEfficacy"}
    assert len(one.sheet(0.5)) == round(len(one.rows["little"]) * 0.5 + 0.5)
    assert {row.predicate for row in read_pointers(out)} > {"hasEfficacy"}
    assert file_digest(out / "little.tsv") != before  # no longer the whole run
    with pytest.raises(UsageError, match="no corpus"):
        verify_claims(Comparison(starter), registry, ["none"], out=out)


def test_pointers_of_texts_stay_while_the_words_do(starter: Starter, tmp_path: Path) -> None:
    registry, out = verified(starter, tmp_path)
    claim = next(each for each in starter.claims if each.text)
    words = text(claim.object).rpartition("/")[2]
    row = dataclasses.replace(
        next(iter(read_pointers(out))),
        subject=local_name(claim.subject.value),
        predicate=local_name(claim.predicate.value),
        object=f"text/{words}",
    )
    gone = dataclasses.replace(row, object="text/0")
    write_pointers(out / "little.tsv", [row, gone], "of another run")
    verify_claims(Comparison(starter), registry, out=out)
    assert row.claim in found(out)
    assert gone.claim not in found(out)
    assert len(found(out)) > 1


@from_table
def test_words_are_read_for_what_they_say(
    reader: Reader, reader_name: str, relation: str, text: str, claimed: str, verdict: str | None
) -> None:
    assert reader.verdict(reader_name, relation, text, claimed) == (
        Verdict(verdict) if verdict else None
    )


def test_narrower_sign_shows_broader_not_reverse(reader: Reader) -> None:
    assert reader.entails("hasEfficacy", ["efficacy-wenzhongjiangni"], "efficacy-wenzhong")
    assert not reader.entails("hasEfficacy", ["efficacy-wenzhong"], "efficacy-wenzhongjiangni")


def test_entry_about_the_object_names_subjects_exactly(reader: Reader) -> None:
    words = "以治疗肝郁脾虚等所致病证的治法。"
    named = "syndrome-liver-depression-and-spleen-deficiency"
    turned = "^hasTreatmentPrinciple"
    assert reader.verdict("mentions", turned, words, named) is Verdict.SUPPORTS
    assert reader.verdict("mentions", turned, words, "syndrome-spleen-qi-deficiency") is None
    assert reader.verdict("mentions", turned, "胃气虚证", "syndrome-qi-deficiency") is None


def test_entry_on_another_part_is_not_subject(starter: Starter) -> None:
    subjects = Subjects(starter.concepts, ("MFHSubstance", "Herb", "Food"))
    assert subjects.of("丁香") == "substance-dingxiang"
    assert subjects.of("丁香油") == ""
    assert subjects.of("公丁", ["丁香"]) == "substance-dingxiang"
    assert subjects.of("无此药", ["丁香"]) == ""


def test_evidence_of_corpora_joins_the_claims(starter: Starter) -> None:
    opened = [
        (claim, evidence)
        for claim in starter.claims
        for evidence in claim.evidence
        if evidence.activity == "verification"
    ]
    assert len(opened) > 10_000
    assert all("#" in evidence.locator for _, evidence in opened)
    claims = [claim for claim, _ in opened if claim.polarity == "negative"]
    assert claims
    assert not any(claim.is_asserted for claim in claims)
    row = next(iter(read_pointers()))
    assert dataclasses.replace(row, end=5, start=1).cells()[-3:-1] == ("1", "5")
