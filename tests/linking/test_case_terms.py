import csv
import json
import lzma
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from typing_extensions import override

from shiyi.artefacts import artefact
from shiyi.errors import FormatError
from shiyi.ingest.cases.term_matches import Terms
from shiyi.linking.case_terms import CURATED, LayerEntry, LayerLink, euphemisms, link_layers
from shiyi.linking.embedding.embedder import Embedder, Vectors, open_shipped
from shiyi.linking.labels import PREFERRED, LabelIndex
from shiyi.settings import LinkingSettings
from tests.support.places import DATA, SHARED

BOOKS = SHARED / "data/tcm_ancient_books/books.jsonl.xz"
FIXTURE = DATA / "reading" / "layers.tsv"


class Planted(Embedder):
    """Gives each text the angle, in degrees, that it spells."""

    @property
    @override
    def identity(self) -> str:
        return "planted"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        angles = np.radians([float(text) for text in texts])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def entries(*texts: str, of: str = "") -> list[LayerEntry]:
    return [LayerEntry(f"x:{of or text}", text) for text in texts]


def pairs(links: Sequence[LayerLink]) -> set[tuple[str, str]]:
    return {(link.case.text, link.term.text) for link in links}


def test_near_planted_vector_is_linked_not_far_one() -> None:
    (link,) = link_layers(entries("0"), entries("10", "170"), Planted(), 0.35)
    assert link.term.text == "10"
    assert link.similarity == pytest.approx(np.cos(np.radians(10)), abs=1e-6)


def test_nothing_farther_than_the_threshold_is_linked() -> None:
    assert link_layers(entries("0"), entries("60"), Planted(), 0.4) == ()
    assert len(link_layers(entries("0"), entries("60"), Planted(), 0.6)) == 1


def test_many_cases_share_term_in_one_direction() -> None:
    cases, terms = entries("0", "8", "20"), entries("10", "90")
    assert pairs(link_layers(cases, terms, Planted(), 0.3)) == {
        ("0", "10"),
        ("8", "10"),
        ("20", "10"),
    }
    for direction in ("term_to_case", "mutual"):
        settings = replace(LinkingSettings(layer_distance=0.3), layer_direction=direction)
        assert pairs(Terms(tuple(terms), Planted(), settings)._link_nearest(cases)) == {("8", "10")}


def test_mutual_flag_is_on_links_of_every_direction() -> None:
    links = link_layers(entries("0", "8"), entries("10"), Planted(), 0.3)
    assert {link.case.text: link.mutual for link in links} == {"0": False, "8": True}


def test_term_is_found_by_any_of_its_wordings() -> None:
    terms = [*entries("90", "5", of="one"), *entries("45", of="two")]
    (link,) = link_layers(entries("0"), terms, Planted(), 0.3, "mutual")
    assert (link.term.iri, link.term.text, link.mutual) == ("x:one", "5", True)


def test_unknown_direction_is_refused() -> None:
    with pytest.raises(FormatError, match="sideways"):
        link_layers(entries("0"), entries("1"), Planted(), 0.3, "sideways")
    assert link_layers([], entries("1"), Planted(), 0.3) == ()
    assert link_layers(entries("1"), [], Planted(), 0.3) == ()


def fixture() -> list[dict[str, str]]:
    with FIXTURE.open(encoding="utf-8") as lines:
        results = (line for line in lines if not line.startswith("# "))
        return list(csv.DictReader(results, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def terms() -> list[LayerEntry]:
    index = LabelIndex.from_tables(artefact("ontology/concepts"))
    kinds = {"Symptom", "EmergencySign", "Disease", "TCMDisease"}
    return [
        LayerEntry(index.concepts[each.concept].iri, each.text)
        for each in sorted(index.labels, key=lambda label: label.role != PREFERRED)
        if each.language == "zh" and index.concepts[each.concept].kind in kinds
    ]


def test_curated_table_links_classical_words_to_terms(terms: list[LayerEntry]) -> None:
    model = open_shipped()
    assert model is not None
    known = {entry.text for entry in terms}
    assert not {euphemism.term for euphemism in euphemisms().values()} - known
    assert len(euphemisms()) >= 60
    cases = [LayerEntry(f"case:{n}", row["expression"]) for n, row in enumerate(fixture())]
    links = link_layers(cases, terms, model, LinkingSettings().layer_distance)
    found_links = {link.case.text: link for link in links}
    assert found_links["不更衣"].term.text == "便秘"
    assert found_links["不更衣"].justification == CURATED


def test_embedding_alone_links_most_of_fixture(terms: list[LayerEntry]) -> None:
    model = open_shipped()
    assert model is not None
    iris: dict[str, set[str]] = {}
    for term in terms:
        iris.setdefault(term.text, set()).add(term.iri)
    rows = fixture()
    cases = [LayerEntry(f"case:{n}", row["expression"]) for n, row in enumerate(rows)]
    links = link_layers(cases, terms, model, LinkingSettings().layer_distance, curated={})
    wanted = {row["expression"]: iris.get(row["term"], set()) for row in rows}
    right = [
        link
        for link in links  # 惊悸 is a disease of that name too
        if link.term.iri in wanted[link.case.text] or link.term.text == link.case.text
    ]
    assert len(right) >= 0.8 * len(links)
    assert len(right) >= 0.3 * sum(bool(group) for group in wanted.values())


def test_every_expression_has_register_and_place() -> None:
    for euphemism in euphemisms().values():
        assert euphemism.register in {"classical", "euphemism", "colloquial"}
        assert re.fullmatch(r"《[^《》]+》.+|习用|现代口语", euphemism.source), euphemism


def test_cited_expression_stands_in_section_that_is_cited() -> None:
    if not BOOKS.is_file():
        pytest.skip("../shared/data/tcm_ancient_books is not here")
    cited_euphemisms = [each for each in euphemisms().values() if each.source.startswith("《")]
    wanted = {each.source[1:].partition("》")[0] for each in cited_euphemisms}
    with lzma.open(BOOKS, "rt", encoding="utf-8") as lines:
        rows = (line for line in lines if any(f'"title": "{name}"' in line for name in wanted))
        books = {result["title"]: result["text"] for result in map(json.loads, rows)}
    assert wanted <= books.keys()
    assert len(cited_euphemisms) >= 80
    for euphemism in cited_euphemisms:
        title, _, section = euphemism.source[1:].partition("》")
        name = section.rpartition("·")[2]
        parts = re.split("(?=<目录>|<篇名>)", books[title])
        folder, found = "", False
        for part in parts:
            head, text = part.partition("\n")[0].strip(), re.sub(r"\s", "", part)
            if part.startswith("<目录>"):
                folder = head[4:].strip()
            found |= (
                euphemism.expression.removesuffix("几几") in text and name in f"{folder} {head}"
            )
        assert found, euphemism
