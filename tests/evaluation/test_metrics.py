"""Each figure against one worked out by hand."""

import math

import pytest

from shiyi.evaluation.metrics import (
    bleu4,
    compare_paired,
    context_precision,
    context_recall,
    estimate_mean,
    gleu,
    hits_at,
    mcnemar,
    ndcg_at,
    ndcg_of_found,
    precision_at,
    recall_at,
    set_scores,
)

RANKING, GOLD = ["a", "x", "b", "y", "z"], {"a", "b", "c"}


def test_precision_recall_and_hits_count_head_of_list() -> None:
    assert precision_at(RANKING, GOLD, 5) == 2 / 5
    assert precision_at(RANKING, GOLD, 10) == 2 / 10
    assert recall_at(RANKING, GOLD, 5) == 2 / 3
    assert recall_at(RANKING, GOLD, 1) == 1 / 3
    assert (hits_at(RANKING, GOLD, 1), hits_at(["x", "a"], GOLD, 1)) == (1.0, 0.0)
    assert recall_at([], set(), 5) == 0.0


def test_gain_is_discounted_by_logarithm_of_rank() -> None:
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(RANKING, GOLD, 5) == pytest.approx((1 + 1 / 2) / ideal)
    assert ndcg_at(["a", "b", "c"], GOLD, 5) == 1.0
    assert ndcg_at([], GOLD, 5) == 0.0


def test_gain_over_found_items_ignores_missing_ones() -> None:
    assert ndcg_of_found(["x", "a", "y"], GOLD, 3) == pytest.approx(1 / math.log2(3))
    assert ndcg_of_found(["a", "x", "b"], GOLD, 1) == 1.0 > ndcg_at(["a", "x", "b"], GOLD, 3)
    assert ndcg_of_found(["x"], GOLD, 3) == 0.0


def test_f1_of_a_set() -> None:
    assert set_scores({"a", "b", "x", "y"}, GOLD) == {
        "precision": 0.5,
        "recall": 2 / 3,
        "f1": pytest.approx(4 / 7),
    }
    assert set_scores(set(), GOLD) == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_context_figures_go_by_id() -> None:
    assert context_precision(["x", "a", "b"], {"a", "b"}) == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert context_precision(["x"], {"a"}) == 0.0
    assert context_recall({"a", "x"}, {"a", "b", "c", "d"}) == 0.25


def test_bleu_and_gleu_of_hand_counted_n_grams() -> None:
    # 1-grams 3/4, 2-grams (2+1)/(3+1), 3-grams (1+1)/(2+1), 4-grams (0+1)/(1+1)
    assert bleu4("百合莲肉", "百合莲子") == pytest.approx(100 * (3 / 4 * 3 / 4 * 2 / 3 / 2) ** 0.25)
    # half as long: brevity penalty e^(1-2), 1-grams 2/2, 2-grams 2/2, then 1/1 and 1/1
    assert bleu4("百合", "百合莲子") == pytest.approx(100 * math.exp(-1))
    assert bleu4("", "百合") == bleu4("甲", "百合") == 0.0
    # shared 3+2+1 of 10 n-grams each
    assert gleu("百合莲肉", "百合莲子") == pytest.approx(60.0)
    assert gleu("", "") == 0.0


def test_interval_holds_mean_and_repeats_with_its_seed() -> None:
    values = [1.0] * 60 + [0.0] * 40
    one, again = estimate_mean(values, 7), estimate_mean(values, 7)
    assert one == again
    assert one.value == 0.6
    assert 0.49 < one.low < 0.6 < one.high < 0.71
    assert one.draws_mean == pytest.approx(0.6)  # a hundred of a hundred, ten times
    assert estimate_mean(values, 8) != one


def test_mcnemar_is_the_exact_binomial() -> None:
    assert mcnemar([1, 1, 0], [1, 1, 0]) == 1.0
    one, other = [1.0] * 8 + [0.0] * 2, [0.0] * 8 + [1.0] * 2
    assert mcnemar(one, other) == pytest.approx(2 * (1 + 10 + 45) / 1024)


def test_graded_figures_are_compared_by_bootstrap() -> None:
    same = compare_paired([0.5, 0.2], [0.5, 0.2], 1)
    assert (same["difference"], same["p"], same["test"]) == (0.0, 1.0, "paired bootstrap")
    better = compare_paired([0.9] * 30, [0.1] * 30, 1)
    assert (better["difference"], better["low"]) == (0.8, 0.8)
    assert better["p"] <= 0.002
    assert compare_paired([1.0, 0.0], [0.0, 0.0], 1)["test"] == "McNemar, exact"


def test_bleu_and_gleu_those_of_nltk_and_sacrebleu() -> None:
    """The values are those of NLTK (``method2``, ``sentence_gleu``) and of sacreBLEU (``add-k``, 1)."""
    one, other = "绿豆性寒，脾胃虚寒者不宜多食。", "绿豆性寒，脾胃虚寒的人慎用绿豆。"
    assert bleu4(one, other) == pytest.approx(55.41038811451)
    assert gleu(one, other) == pytest.approx(53.44827586207)
    one, other = "ginger tea warms the stomach", "ginger tea is said to warm the stomach and spleen"
    assert bleu4(one, other) == pytest.approx(16.45206875968)
    assert gleu(one, other) == pytest.approx(17.64705882353)
