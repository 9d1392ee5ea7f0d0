"""The exam readers of bench/exams: they use what they were trained on, and nothing else."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from cooccurrence import Cooccurrence, CooccurrenceScorer, PassageRanker, passages_of, words
from herbs import HerbModel, HiddenLayer
from learning import NameRegression, StackedScorer
from readers import ExamContext
from signs import SignsScorer

from shiyi.errors import IndexMismatchError, UsageError
from shiyi.evaluation.bench import EvaluationContext, Request
from shiyi.evaluation.items import Choice, Prescription
from shiyi.evaluation.scorers.baselines import PrescriptionTable
from shiyi.ingest.documents.document import (
    Document,
    Heading,
    build_tree,
    passage_quads,
    section_quads,
)
from shiyi.model.claim import Source, Tier
from shiyi.model.rdf import NamedNode
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.support import bases

TEXT = "理中汤治脾胃虚寒。\n脾胃虚寒，腹痛吐利，理中汤主之。"
PASSAGES = (
    "理中汤治脾胃虚寒，腹痛吐利", "脾胃虚寒者，理中汤主之", "白虎汤治壮热口渴",
    "壮热口渴，白虎汤主之",
    "Ginger warms the stomach", "春夏养阳", "四时之气", "五藏六府",
)  # fmt: skip


@pytest.fixture(scope="module")
def book_base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("passages")
    graph = NamedNode("https://example.org/graph")
    source = Source("books", "古籍", "Ancient books", Tier.CLASSIC)
    document = Document("书.txt", source, "zh", TEXT, (Heading(0, 0, ("书", "卷一")),))
    tree = build_tree(document, 5, 20)
    quads = [q for s in tree.sections for q in section_quads(s, document, graph)]
    quads += [q for p in tree.passages for q in passage_quads(p, document, graph)]
    build_generation(folder / "kb", (*bases.kitchen_quads(), *quads), {})
    with KnowledgeBase.open(folder / "kb") as base:
        yield base


def test_passages_rank_option_they_mention_with_stem() -> None:
    index = Cooccurrence.of(PASSAGES)
    together = CooccurrenceScorer(index, frozenset(words("脾胃虚寒")))
    right, wrong, unknown = together.scores("脾胃虚寒，腹痛，宜选", ["理中汤", "白虎汤", "麻黄汤"])
    assert right > wrong == unknown == 0.0
    assert together.scores("stomach", ["ginger", "春夏"]) == [1.0, 0.0]
    right, wrong = PassageRanker(index).scores("壮热口渴", ["白虎汤", "理中汤"])
    assert right > wrong == 0.0


def test_every_passage_of_word_is_found_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cooccurrence._BATCH", 2)
    monkeypatch.setattr("cooccurrence._BITS", np.uint64(1))
    index = Cooccurrence.of(PASSAGES)
    (places,) = [index.passages_with(key) for key in words("白虎")]
    assert places.tolist() == [2, 3]
    assert Cooccurrence.of(()).passages_with(words("白虎")[0]).tolist() == []


def test_the_index_of_passages_is_stored(book_base: KnowledgeBase, tmp_path: Path) -> None:
    passages = list(passages_of(book_base.store))
    assert passages
    assert all(passage.startswith("书 卷一") for passage in passages)
    one, two = (Cooccurrence.over(book_base.store, tmp_path, book_base.release) for _ in range(2))
    assert one.count == two.count == len(passages)
    assert (
        two.passages_with(words("理中")[0]).tolist() == one.passages_with(words("理中")[0]).tolist()
    )
    with pytest.raises(IndexMismatchError, match="made for"):
        Cooccurrence.load(tmp_path, release="another", passages=str(len(passages)))


def test_fused_reads_passages_unless_claims_are_withheld(book_base: KnowledgeBase) -> None:
    def bench(**more: tuple[str, ...]) -> ExamContext:
        return ExamContext(book_base, Settings(), Request("mcq", "x", **more))  # type: ignore[arg-type]

    assert any(isinstance(part, CooccurrenceScorer) for part in bench().recalls())
    for shut in (bench(ablate=("spo-without-text",)), bench(without=("diet",))):
        assert not any(isinstance(part, CooccurrenceScorer) for part in shut.recalls())
        with pytest.raises(UsageError, match="ingest books"):
            shut.scorer("passages")


class _Table:
    """A scorer that knows its scores."""

    def __init__(self, scores: dict[str, float]) -> None:
        self._scores = scores

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        return [self._scores.get(f"{stem} {option}", 0.0) for option in options]


def test_stacking_trusts_scorer_that_was_right_in_training() -> None:
    options = (("A", "一"), ("B", "二"))
    cases = [Choice(f"{n}", f"病{n}", options, frozenset("AB"[n % 2])) for n in range(40)]
    right = _Table({f"病{n} {'一二'[n % 2]}": 1.0 for n in range(41)})
    wrong = _Table({f"病{n} {'二一'[n % 2]}": 1.0 for n in range(41)})
    sizes = list[int]()

    def learning(some: Sequence[Choice]) -> _Table:
        sizes.append(len(some))
        return _Table({})

    stacked = StackedScorer.of(cases, [right, wrong], learning)
    trusted, distrusted, silent = stacked.weights
    assert trusted > 0.5
    assert distrusted < -0.5
    assert silent == pytest.approx(0.0)
    assert sizes == [32] * 5 + [40]  # never scored on its own training cases
    first, second = stacked.scores("病40", ["一", "二"])
    assert first > second == 0.0


def test_name_of_no_training_case_composed_of_parts() -> None:
    signs = {"肝": "胁痛易怒", "脾": "腹胀便溏", "气虚": "乏力自汗", "血瘀": "刺痛舌紫"}
    cases = [
        Choice(f"{a}{b}{n}", f"{signs[a]}{signs[b]}", (("A", f"{a}{b}"),), frozenset("A"))
        for n in range(20)
        for a, b in (("肝", "血瘀"), ("脾", "气虚"), ("肝", "气虚"))
    ]
    scores = NameRegression.of(cases).scores("腹胀便溏，刺痛舌紫", ["肝气虚", "脾血瘀", "肾阳虚"])
    assert scores[1] == max(scores)
    assert min(scores) == 0.0


def test_rare_signs_weigh_more_than_long_lists(kitchen: KnowledgeBase) -> None:
    bench = EvaluationContext(kitchen, Settings(), Request("mcq", "none"))
    scorer = SignsScorer(bench.view, bench.linking)
    cold, heat, other = scorer.scores("胃不适，喜温", ["脾胃虚寒证", "胃热证", "阴虚质"])
    assert cold > heat > other == 0.0
    counted = SignsScorer(bench.view, bench.linking, ranked=False)
    assert counted.scores("胃不适，喜温", ["脾胃虚寒证", "胃热证"]) == [2.0, 1.0]


def test_every_part_learns_herbs_from_prescriptions() -> None:
    training = [Prescription(str(i), ("咳嗽",), frozenset({"杏仁"})) for i in range(3)]
    training += [Prescription(str(i), ("胃痛",), frozenset({"白术"})) for i in range(3, 9)]
    learned = HerbModel.of(PrescriptionTable.of(training, ["杏仁", "白术"]))
    for score in learned.scorers:
        almond, atractylodes = score(["咳嗽"])
        assert almond > atractylodes
    assert learned.regress(["没见过"]).tolist() == [0.0, 0.0]


def test_hidden_layer_learns_pairs_of_symptoms() -> None:
    had = np.array([[1, 0], [0, 1], [1, 1]] * 40, dtype=float)
    given = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 1]] * 40, dtype=float)
    layer = HiddenLayer.trained(had, given)
    alone, together = layer.shares(np.array([1.0, 0.0])), layer.shares(np.array([1.0, 1.0]))
    assert alone.sum() == pytest.approx(1.0, abs=1e-4)
    assert together[2] / together[0] > alone[2] / alone[0]
    assert (HiddenLayer.trained(had, given).outer == layer.outer).all()
