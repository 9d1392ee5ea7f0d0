"""Texts found by their words and by their meaning, in a file that stands beside its release."""

import math
from pathlib import Path

import numpy as np
import pytest

from shiyi.answering.retrieval.library import FILE, Library
from shiyi.answering.retrieval.passages import (
    CLAIM,
    DEFINITION,
    PAIR,
    PASSAGE,
    SUMMARY,
    Unit,
    units,
)
from shiyi.columnar.mapped_file import Memmap, write
from shiyi.errors import IndexMismatchError
from shiyi.linking.embedding.embedder import open_shipped
from shiyi.linking.normalization import words
from shiyi.model.iris import ID, content_hash, graph
from shiyi.model.rdf import Literal, NamedNode, Quad, text
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import PROV, RDF, RDFS, SHIYI
from tests.support import bases
from tests.tables import from_table

UNITS = (
    Unit("claim/1", CLAIM, "山药 性(四气) 平 Chinese yam has nature neutral", ("claim/1",)),
    Unit("claim/2", CLAIM, "姜 性(四气) 温 ginger has nature warm", ("claim/2",)),
    Unit("claim/3", CLAIM, "百合 缓解 失眠 lily bulb relieves insomnia", ("claim/3",)),
    Unit("passage/1", PASSAGE, "夜不能寐者，取百合煮粥。", ("claim/3",), "食疗 > 安神"),
)


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.build(UNITS, "r1", open_shipped())


def test_words_pairs_of_characters_and_whole_latin_words() -> None:
    assert words("吃姜好吗？Vitamin B12") == ["吃姜", "姜好", "好吗", "vitamin", "b12"]
    assert words("姜。") == ["姜"]
    assert words("!?") == []


def test_one_character_name_is_found_where_alone(library: Library) -> None:
    assert library.by_words("姜 ginger", 1)[0].unit.iri == "claim/2"


def test_rare_words_weigh_more(library: Library) -> None:
    hits = library.by_words("失眠 insomnia", 4)
    assert [h.unit.iri for h in hits] == ["claim/3"]
    assert hits[0].score > 0
    assert library.by_words("安眠药", 4) == ()


@from_table
def test_words_of_a_query_language_stay_words(library: Library, hostile: str) -> None:
    library.by_words(hostile, 3)
    assert len(library) == len(UNITS)


def test_meaning_finds_what_shares_no_word(library: Library) -> None:
    hits = library.by_meaning("sleeplessness", 1)
    assert hits[0].unit.iri == "claim/3"
    assert 0 < hits[0].score <= 1
    assert library.by_meaning("x", 0) == ()


def test_kinds_and_claims_narrow_a_recall(library: Library) -> None:
    assert [h.unit.kind for h in library.by_words("百合", 3, (PASSAGE,))] == [PASSAGE]
    hits = library.by_words("性(四气) nature", 3, claims={"claim/1"})
    assert [h.unit.iri for h in hits] == ["claim/1"]
    assert [u.iri for u in library.texts_of(["claim/3"], (PASSAGE,))] == ["passage/1"]
    assert library.texts_of(["claim/3"], (PASSAGE,))[0].section == "食疗 > 安神"


def test_units_have_their_vectors_over_many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiyi.answering.retrieval.library._BATCH", 3)
    library = Library.build([*UNITS, *UNITS[:3]], "r1", open_shipped())
    for unit in UNITS:
        assert library.by_meaning(unit.text, 1)[0].unit.text == unit.text
    assert library.by_meaning(UNITS[3].text, 9, (PASSAGE,))[0].unit == UNITS[3]
    assert len(library) == 7


def test_index_opens_again_and_only_for_its_release(tmp_path: Path) -> None:
    Library.build(UNITS, "r1", open_shipped(), tmp_path)
    opened = Library.open(tmp_path, "r1", open_shipped())
    assert [h.unit.iri for h in opened.by_words("失眠", 2)] == ["claim/3"]
    assert opened.by_meaning("insomnia", 1)[0].unit.iri == "claim/3"
    with pytest.raises(IndexMismatchError, match="r1"):
        Library.open(tmp_path, "r2", open_shipped())
    with pytest.raises(IndexMismatchError, match="no index"):
        Library.open(tmp_path / "elsewhere", "r1", open_shipped())


def test_a_damaged_index_is_reported(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no index at all" * 100)
    with pytest.raises(IndexMismatchError, match="damaged"):
        Library.open(tmp_path, "r1", None)


def test_without_a_model_words_alone_are_searched(tmp_path: Path) -> None:
    Library.build(UNITS, "r1", None, tmp_path)
    opened = Library.open(tmp_path, "r1", open_shipped())
    assert opened.by_words("失眠", 1)
    assert opened.by_meaning("失眠", 1) == ()


def test_base_yields_claims_once_and_passages_with_titles() -> None:
    store = bases.stored()
    claim = bases.kitchen_claim("substance-lily", "relieves", NamedNode(bases.iri("symptom-sleep")))
    store.change(add=list(claim_quads(claim)))
    [present] = store.match(claim.iri, SHIYI.evidence, None, None)
    evidence = NamedNode(text(present.object))
    names = ("passage/1", "s/1", "s/2", "qa/1", "sum/1")
    place, book, chapter, pair, summary = (NamedNode(ID + name) for name in names)
    source = graph("source", "book@1")
    zh = "zh"
    store.change(
        add=[
            Quad(place, RDF.type, SHIYI.Passage, source),
            Quad(place, RDF.value, Literal("百合治不寐。", language=zh), source),
            Quad(place, SHIYI.partOfSection, chapter, source),
            Quad(chapter, SHIYI.partOfSection, book, source),
            Quad(chapter, RDFS.label, Literal("安神", language=zh), source),
            Quad(book, RDFS.label, Literal("食疗", language=zh), source),
            Quad(evidence, PROV.wasDerivedFrom, place, bases.DEFAULT),
            Quad(pair, RDF.type, SHIYI.QuestionAnswer, source),
            Quad(pair, RDFS.label, Literal("睡不着吃什么？", language=zh), source),
            Quad(pair, SHIYI.answerText, Literal("百合。", language=zh), source),
            Quad(pair, PROV.wasDerivedFrom, place, source),
            Quad(summary, RDF.type, SHIYI.PassageSummary, source),
            Quad(summary, RDF.value, Literal("百合的用途", language=zh), source),
            Quad(summary, PROV.wasDerivedFrom, place, source),
        ]
    )
    runtime = bases.runtime([claim])
    found_units = list(units(store, runtime.facts))
    claims = [u.iri for u in found_units if u.kind == CLAIM]
    assert len(claims) == len(set(claims)) > 30
    by_kind = {u.kind: u for u in found_units if u.kind != CLAIM}
    for kind in (PASSAGE, PAIR, SUMMARY):
        unit = by_kind[kind]
        assert (unit.iri, unit.claims, unit.section) == (
            place.value,
            (claim.iri.value,),
            "食疗 > 安神",
        )
    assert by_kind[PAIR].text == "睡不着吃什么？ 百合。"


def test_index_of_earlier_build_is_not_opened(tmp_path: Path) -> None:
    Library.build(UNITS, "r1", None, tmp_path)
    memmap = Memmap.open(tmp_path / FILE)
    write(tmp_path / FILE, memmap.arrays, **{**memmap.about, "format": "5"})
    with pytest.raises(IndexMismatchError, match="shiyi index"):
        Library.open(tmp_path, "r1", None)


def test_claims_and_passages_that_bear_them_come_back(tmp_path: Path) -> None:
    claim, other = (f"{ID}claim/{content_hash('姜', 'relieves', end)}" for end in ("感冒", "咳"))
    found_units = [
        Unit(claim, CLAIM, "姜 缓解 感冒", (claim,)),
        Unit("leaf", PASSAGE, "姜汤", (other, claim)),
    ]
    Library.build(found_units, "r1", None, tmp_path)
    library = Library.open(tmp_path, "r1", None)
    assert library.claims() == {claim}
    assert library.texts_of([claim], (CLAIM, PASSAGE)) == tuple(found_units)
    assert library.texts_of([other], (CLAIM, PASSAGE)) == (found_units[1],)


def test_file_cut_short_or_of_other_parts_refused(tmp_path: Path) -> None:
    Library.build(UNITS, "r1", open_shipped(), tmp_path)
    memmap = Memmap.open(tmp_path / FILE)
    for name, other in (
        ("vectors", np.zeros((2, 192), np.float32)),
        ("kinds", np.zeros(9, np.uint8)),
        ("tantivy/meta.json", np.zeros(9, np.uint8)),
    ):
        write(tmp_path / FILE, {**memmap.arrays, name: other}, **memmap.about)
        with pytest.raises(IndexMismatchError, match="shiyi index"):
            Library.open(tmp_path, "r1", open_shipped())


def test_words_weigh_what_okapi_says() -> None:
    texts = ["姜 姜 枣", "姜 枣 茶 ginger tea", "枣 茶", "梨 茶", "梨 膏"]
    library = Library.build([Unit(f"u{i}", DEFINITION, t) for i, t in enumerate(texts)], "r1", None)
    lengths = [len(words(text)) for text in texts]
    usual = sum(lengths) / len(texts)

    def weigh(place: int) -> float:
        total = 0.0
        for word in ("姜", "茶"):
            times, holding = words(texts[place]).count(word), sum(word in words(t) for t in texts)
            rarity = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            length = 0.25 + 0.75 * lengths[place] / usual
            total += rarity * times * 2.2 / (times + 1.2 * length)
        return total

    results = {hit.unit.iri: hit.score for hit in library.by_words("姜 茶", 9)}
    assert results == pytest.approx({f"u{i}": weigh(i) for i in range(4)}, rel=1e-5)


def test_many_changes_one_after_another_are_found(tmp_path: Path) -> None:
    Library.build(UNITS, "r1", open_shipped(), tmp_path)
    library = Library.open(tmp_path, "r1", open_shipped())
    for n in range(16):  # segments are merged from 8 on
        unit = Unit(f"claim/new{n}", CLAIM, f"第{n}味 remedy{n}", (f"claim/new{n}",))
        library.change((), [unit], {unit.iri: ["passage/1"]})
    assert len(library) == 20
    for n in range(16):
        assert library.by_words(f"remedy{n}", 1)[0].unit.iri == f"claim/new{n}"
    assert library.by_meaning("第7味 remedy7", 1)[0].unit.iri == "claim/new7"
    (passage,) = library.texts_of(["claim/new9"], (PASSAGE,))
    assert passage.claims == ("claim/3", *(f"claim/new{n}" for n in range(16)))
    library.change([f"claim/new{n}" for n in range(15)] + ["claim/3"], [], {})
    assert len(library) == 4
    assert library.texts_of(["claim/3"], (PASSAGE, CLAIM)) == ()
    assert library.texts_of(["claim/new15"], (PASSAGE,))[0].claims == ("claim/new15",)
    assert library.by_words("remedy7 百合", 3, claims=["claim/new7", "claim/3"]) == ()
