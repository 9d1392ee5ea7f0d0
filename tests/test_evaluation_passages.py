"""Passages of ingested books speak for an option whose words stand in them with the stem's."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from shiyi.errors import IndexMismatchError, UsageError
from shiyi.evaluation.bench import Bench, Request
from shiyi.evaluation.cooccurrence import Cooccurrence, passages_of, words
from shiyi.evaluation.items import Choice
from shiyi.evaluation.kept import state_of
from shiyi.evaluation.passages import PassageRanker, TogetherScorer
from shiyi.evaluation.stacked import Stacked
from shiyi.ingest.datasets import described
from shiyi.ingest.text.document import Document, Heading
from shiyi.ingest.text.tree import passage_quads, section_quads, tree_of
from shiyi.model.rdf import NamedNode
from shiyi.settings import Settings
from shiyi.sparql.generations import build_generation
from shiyi.sparql.knowledge_base import KnowledgeBase
from tests import kitchen

TEXT = "理中汤治脾胃虚寒。\n脾胃虚寒，腹痛吐利，理中汤主之。"
PASSAGES = (
    "理中汤治脾胃虚寒，腹痛吐利", "脾胃虚寒者，理中汤主之", "白虎汤治壮热口渴", "壮热口渴，白虎汤主之",
    "Ginger warms the stomach", "春夏养阳", "四时之气", "五藏六府",
)  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("passages")
    graph = NamedNode("https://example.org/graph")
    dataset = described("tcm-ancient-books")
    document = Document("书.txt", dataset.source, "zh", TEXT, (Heading(0, 0, ("书", "卷一")),))
    tree = tree_of(document, 5, 20)
    quads = [q for s in tree.sections for q in section_quads(s, document, graph)]
    quads += [q for p in tree.passages for q in passage_quads(p, document, graph)]
    build_generation(folder / "kb", (*kitchen.quads(), *quads), {})
    with KnowledgeBase.open(folder / "kb") as opened:
        yield opened


def test_words_that_stand_together_oftener_than_by_chance_speak_for_an_option() -> None:
    scorer = TogetherScorer(Cooccurrence.of(PASSAGES), frozenset(words("脾胃虚寒")))
    right, wrong, unknown = scorer.scores("脾胃虚寒，腹痛，宜选", ["理中汤", "白虎汤", "麻黄汤"])
    assert right > wrong == unknown == 0.0
    assert scorer.scores("stomach", ["ginger", "春夏"]) == [1.0, 0.0]


def test_a_passage_that_matches_both_is_ranked_by_bm25() -> None:
    ranker = PassageRanker(Cooccurrence.of(PASSAGES))
    right, wrong = ranker.scores("壮热口渴", ["白虎汤", "理中汤"])
    assert right > wrong == 0.0


def test_every_passage_of_a_word_is_found_across_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiyi.evaluation.cooccurrence._BATCH", 2)
    monkeypatch.setattr("shiyi.evaluation.cooccurrence._BITS", np.uint64(1))
    index = Cooccurrence.of(PASSAGES)
    (held,) = [index.holding(key) for key in words("白虎")]
    assert held.tolist() == [2, 3]
    assert index.count == len(PASSAGES)
    assert Cooccurrence.of(()).holding(words("白虎")[0]).tolist() == []


def test_passages_are_read_below_their_titles_and_their_index_is_kept(
    base: KnowledgeBase, tmp_path: Path
) -> None:
    said = list(passages_of(base.store))
    assert said
    assert all(each.startswith("书 卷一") for each in said)
    made = Cooccurrence.over(base.store, tmp_path, base.release)
    again = Cooccurrence.over(base.store, tmp_path, base.release)
    assert made.count == again.count == len(said)
    assert again.holding(words("理中")[0]).tolist() == made.holding(words("理中")[0]).tolist()
    with pytest.raises(IndexMismatchError, match="made for"):
        Cooccurrence.load(tmp_path, release="another", passages=str(len(said)))


def test_fused_reads_passages_unless_claims_are_withheld(base: KnowledgeBase) -> None:
    def bench(ablate: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> Bench:
        return Bench(base, Settings(), Request("mcq", "x", ablate=ablate, without=without))

    assert any(isinstance(part, TogetherScorer) for part in bench().recalls())
    for shut in (bench(ablate=("spo-without-text",)), bench(without=("diet",))):
        assert not any(isinstance(part, TogetherScorer) for part in shut.recalls())
        with pytest.raises(UsageError, match="ingest books"):
            shut.scorer("passages")


def test_what_was_written_since_the_build_is_part_of_what_a_run_is_kept_by(tmp_path: Path) -> None:
    build_generation(tmp_path / "kb", tuple(kitchen.quads()), {})
    with KnowledgeBase.open(tmp_path / "kb") as opened:
        assert state_of(opened) == opened.release
        (tmp_path / "kb" / "journal.nq").write_text("x", "utf-8")
        assert state_of(opened) != opened.release


class _Says:
    def __init__(self, said: dict[str, float]) -> None:
        self.said = said

    def scores(self, stem: str, options: Sequence[str]) -> list[float]:
        return [self.said.get(f"{stem} {option}", 0.0) for option in options]


def test_evidence_that_was_right_in_training_is_believed_and_misleading_evidence_is_not() -> None:
    options = (("A", "一"), ("B", "二"))
    cases = [Choice(f"{n}", f"病{n}", options, frozenset("AB"[n % 2])) for n in range(40)]
    right = _Says({f"病{n} {'一二'[n % 2]}": 1.0 for n in range(41)})
    wrong = _Says({f"病{n} {'二一'[n % 2]}": 1.0 for n in range(41)})
    seen = list[int]()

    def learning(some: Sequence[Choice]) -> _Says:
        seen.append(len(some))
        return _Says({})

    stacked = Stacked.of(cases, [right, wrong], learning)
    believed, misleading, silent = stacked.weights
    assert believed > 0.5
    assert misleading < -0.5
    assert silent == pytest.approx(0.0)
    assert seen == [32] * 5 + [40]  # never scored on what it learnt from
    first, second = stacked.scores("病40", ["一", "二"])
    assert first > second == 0.0
