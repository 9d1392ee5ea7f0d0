from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typing_extensions import override

from shiyi.errors import IndexMismatchError
from shiyi.linking.embedding import index
from shiyi.linking.embedding.embedder import Embedder, Vectors, unit
from shiyi.linking.embedding.index import ApproximateVectors, LabelVectors, search_nearest
from shiyi.linking.linker import Linker, write_index
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.serialization import DEFAULT
from shiyi.ontology.terms import RDF, SHIYI, SKOS
from shiyi.sparql.store.oxigraph import OxigraphStore

ROWS = unit(np.random.default_rng(7).normal(size=(3000, 32)).astype(np.float32))


class Listed(Embedder):
    """Gives the vector whose place a text spells."""

    @property
    @override
    def identity(self) -> str:
        return "listed"

    @override
    def encode(self, texts: Sequence[str]) -> Vectors:
        return ROWS[[int(text) for text in texts]]


@pytest.mark.parametrize("count", [3000, 40, 3, 0])
def test_a_search_finds_exactly_the_nearest(count: int) -> None:
    rows, asked = np.concatenate([ROWS[:count], ROWS[: count // 9]]), ROWS[-40:]
    wanted = np.arange(len(rows)) % 7 > 0
    for near, cosines in zip(search_nearest(rows, asked, 10, wanted), asked @ rows.T, strict=True):
        best = sorted(np.flatnonzero(wanted), key=lambda place: (-round(cosines[place], 6), place))
        assert [place for place, _ in near] == best[:10]
    vectors = LabelVectors(rows, Listed(), "release")
    for near, cosines in zip(vectors.above(["7", "8"], 0.2), ROWS[7:9] @ rows.T, strict=True):
        above = {*np.flatnonzero(cosines > 0.20001).tolist()}
        assert {place for place, cosine in near if cosine > 0.20001} == above
        assert all(cosine >= 0.2 for _, cosine in near)


def test_graph_finds_nearly_all_of_ten_nearest() -> None:
    exact = LabelVectors(ROWS, Listed(), "release")
    asked = [str(place) for place in range(0, 3000, 60)]
    right, results = 0, ApproximateVectors.of(exact).search(asked, 10)
    for near, true in zip(results, exact.search(asked, 10), strict=True):
        assert near[0][0] == true[0][0]
        assert near[0][1] == pytest.approx(1, abs=1e-4)
        right += len({place for place, _ in near} & {place for place, _ in true})
    assert right >= 0.98 * 10 * len(asked)


def test_no_text_is_near_nothing() -> None:
    assert ApproximateVectors.of(LabelVectors(ROWS, Listed(), "release")).search([], 10) == []


def test_only_near_labels_above_the_threshold_are_given() -> None:
    graph = ApproximateVectors.of(LabelVectors(ROWS, Listed(), "release"))
    ((first, *others),) = graph.above(["7"], 0.5)
    assert first[0] == 7
    assert all(cosine >= 0.5 for _, cosine in others)
    assert graph.above(["7"], 1.1) == [[]]


def test_a_graph_reads_back_as_it_was_written(tmp_path: Path) -> None:
    vectors = ApproximateVectors.of(LabelVectors(ROWS, Listed(), "release"))
    vectors.save(tmp_path)
    read = ApproximateVectors.load(tmp_path, vectors.vectors)
    assert read.search(["1", "2"], 10) == vectors.search(["1", "2"], 10)


def test_graph_of_other_vectors_or_damaged_one_refused(tmp_path: Path) -> None:
    exact = LabelVectors(ROWS, Listed(), "release")
    with pytest.raises(IndexMismatchError, match="damaged"):
        ApproximateVectors.load(tmp_path, exact)
    path = ApproximateVectors.of(exact).save(tmp_path)
    for other in (
        LabelVectors(ROWS, Listed(), "other"),
        LabelVectors(ROWS[:-1], Listed(), "release"),
    ):
        with pytest.raises(IndexMismatchError, match="shiyi index"):
            ApproximateVectors.load(tmp_path, other)
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(IndexMismatchError, match="cut short"):
        ApproximateVectors.load(tmp_path, exact)
    path.write_bytes(b"\0" * len(whole))
    with pytest.raises(IndexMismatchError):
        ApproximateVectors.load(tmp_path, exact)


def test_base_of_very_many_labels_linked_over_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MANY", 2)
    goji, store = resource("substance-gouqizi"), OxigraphStore.in_memory()
    store.change(
        add=[
            Quad(goji, RDF.type, SHIYI.MFHSubstance, DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("枸杞子", language="zh"), DEFAULT),
            Quad(goji, SKOS.prefLabel, Literal("goji berry", language="en"), DEFAULT),
        ]
    )
    write_index(tmp_path, store, "r")
    linker = Linker.open(tmp_path, store, "r")
    assert isinstance(linker.vectors, ApproximateVectors)
    assert [mention.iri for mention in linker.candidates("berry of goji")] == [goji.value]
