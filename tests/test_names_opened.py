"""Forms, sounds and keys opened from a file are those that would be made."""

from itertools import pairwise
from pathlib import Path

import pytest
from pypinyin import lazy_pinyin

from shiyi.artefacts import artefact
from shiyi.errors import IndexMismatchError
from shiyi.linking import names
from shiyi.linking.complete import Completer
from shiyi.linking.dictionary import Dictionary, Sense
from shiyi.linking.labels import ALTERNATIVE, LATIN, PREFERRED, Concept, Label, LabelIndex
from shiyi.linking.linker import Linker
from shiyi.linking.names import FILE, open_names, write_names
from shiyi.linking.near import NearNames
from shiyi.linking.normalise import is_cjk
from shiyi.linking.pinyin import syllables
from shiyi.linking.surfaces import BOTANICAL, OTHER
from shiyi.model.mapped import Mapped, write

TEXTS = (
    "我在吃华法林，枸纪子和当归能一起炖汤吗？", "Can I take gingko bilboa with prednisone?",
    "gouqizi 泡水，胃不舒服", "date night with st johns wort", "铃兰和莲子", "失眠多梦，吃点什么好？",
)  # fmt: skip


@pytest.fixture(scope="module")
def index() -> LabelIndex:
    return LabelIndex.from_tables(artefact("ontology/concepts"))


@pytest.fixture(scope="module")
def folder(index: LabelIndex, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("names")
    index.save(home)
    write_names(index, home)
    return home


def test_what_is_opened_links_and_completes_as_what_is_made(
    index: LabelIndex, folder: Path
) -> None:
    opened = LabelIndex.load(folder, index.release)
    assert opened == index
    made = open_names(folder, opened)
    assert made is not None
    before, after = Linker(index), Linker(opened, made=made)
    assert list(before.dictionary.forms) == list(after.dictionary.forms)
    for text in TEXTS:
        assert before.link(text) == after.link(text)
        assert before.candidates(text[:12]) == after.candidates(text[:12])
    near = NearNames(before.dictionary), NearNames(after.dictionary, made)
    for form in list(before.dictionary.forms)[::997]:
        assert near[0].similar(form, 7) == near[1].similar(form, 7)
    keys = Completer(index), Completer(opened, made)
    for prefix in ("gou", "枸", "warf", "gqz", "berry", "z", "龙", "no such thing"):
        assert keys[0].complete(prefix, 12) == keys[1].complete(prefix, 12)


def test_forms_made_by_other_rules_are_made_again(
    index: LabelIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "_makers", lambda: "other rules")
    assert open_names(folder, index) is None
    other = LabelIndex("sha256:other", index.concepts, index.labels)
    monkeypatch.undo()
    assert open_names(folder, other) is None


def test_a_damaged_trie_is_refused_before_it_is_read(
    index: LabelIndex, folder: Path, tmp_path: Path
) -> None:
    made = Mapped.open(folder / FILE)
    broken = made["form.trie"].copy()
    broken[len(broken) // 2] ^= 0xFF
    write(tmp_path / FILE, {**made.arrays, "form.trie": broken}, **made.about)
    with pytest.raises(IndexMismatchError, match="damaged"):
        Dictionary(index, Mapped.open(tmp_path / FILE))


def test_a_form_of_very_many_concepts_keeps_every_one_once() -> None:
    many = 20_000
    concepts = tuple(Concept(f"urn:{i}", "Food", "同名", "") for i in range(many))
    labels = tuple(Label("同名", "zh", i, PREFERRED) for i in range(many))
    dictionary = Dictionary(LabelIndex("many", concepts, labels))
    assert [sense.concept for sense in dictionary.senses("tongming")] == list(range(many))
    assert len(dictionary.senses("同名")) == many


def test_a_form_keeps_the_most_direct_label_of_each_concept() -> None:
    concepts = tuple(Concept(f"urn:{i}", "Food", "", "") for i in range(2))
    labels = (
        Label("goji (dried)", "en", 0, PREFERRED), Label("Goji", "en", 0, ALTERNATIVE),
        Label("gojis", "en", 0, ALTERNATIVE), Label("goji", "la", 1, LATIN),
    )  # fmt: skip
    senses = Dictionary(LabelIndex("direct", concepts, labels)).senses("goji")
    assert senses == (Sense(OTHER, 0, 1), Sense(BOTANICAL, 1, 3))


@pytest.mark.parametrize("at_once", [5, 1 << 15])
def test_the_most_alike_forms_are_those_that_share_most_grams(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiyi.linking.near._AT_ONCE", at_once)
    texts = (
        "goji",
        "gojii berry",
        "ginkgo",
        "banana ananas",
        "枸杞",
        "枸杞子枸杞",
        "维c片",
        "vitamin c",
        "𠀀𠀁",
    )
    labels = tuple(Label(text, "en", place, PREFERRED) for place, text in enumerate(texts))
    concepts = tuple(Concept(f"urn:{place}", "Food", "", "") for place in range(len(texts)))
    dictionary = Dictionary(LabelIndex("alike", concepts, labels))

    def grams(form: str) -> set[str]:
        if any("\u3400" <= each <= "\u9fff" or each > "\uffff" for each in form):
            return {*form, *map("".join, pairwise(form))}
        form = f"\2{form}\3"
        return {form[at : at + 3] for at in range(len(form) - 2)}

    near, forms = (
        NearNames(dictionary),
        [form for form in dictionary.forms if dictionary.senses(form)],
    )
    for text in forms:
        alike = {
            form: len(grams(form) & grams(text)) / len(grams(form) | grams(text)) for form in forms
        }
        expected = {form: pytest.approx(share) for form, share in alike.items() if share}
        assert dict(near.similar(text, len(forms) + 9)) == expected


def test_syllables_are_those_that_pypinyin_gives_of_the_whole(index: LabelIndex) -> None:
    chinese = [label.text for label in index.labels if label.language == "zh"][::3]
    for text in (*chinese, "银行行长重新长出", "𠀀藏红花㐀", "大便不通，便宜"):
        whole = "".join(filter(is_cjk, text))
        assert list(syllables(text)) == lazy_pinyin(whole, errors="ignore", v_to_u=False)
