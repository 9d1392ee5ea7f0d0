"""Ranks of tails: ComplEx trained with a softmax over all entities."""

import numpy as np
import pytest

from shiyi.errors import RangeError, UsageError
from shiyi.reasoning.link_prediction import filtered_ranks
from shiyi.reasoning.links import Links, LinkSettings, train_links
from shiyi.reasoning.triples import Names, Numbered, Row

QUICK = LinkSettings(dim=16, epochs=30, batch=8, learning_rate=0.05)


def kinship(size: int = 40) -> list[Row]:
    """Each follows the next on a ring, and precedes the one before; the ring has no end."""
    follows = [(f"e{i:02}", "before", f"e{(i + 1) % size:02}", 0.9) for i in range(size)]
    return follows + [(t, "after", h, c) for h, _, t, c in follows]


@pytest.mark.neural
def test_a_relation_that_has_a_direction_is_learnt_with_it() -> None:
    rows = kinship()
    links = train_links(rows, QUICK, seed=1)
    every = Numbered.of(rows, links.names)
    assert filtered_ranks(links, every, every.triples).hits1 > 0.8
    turned = Numbered.of([(t, r, h, c) for h, r, t, c in rows], links.names)
    assert filtered_ranks(links, turned, turned.triples).hits1 < 0.2


@pytest.mark.neural
def test_links_held_out_are_ranked_far_above_chance_from_the_relation_turned_round() -> None:
    rows = kinship()
    links = train_links(rows[10:], QUICK, seed=1)  # ten stand only from their other end
    asked = Numbered.of(rows[:10], links.names)
    assert filtered_ranks(links, asked, asked.triples).mrr > 0.3  # by chance 0.1


@pytest.mark.neural
def test_equal_seeds_give_equal_ranks_and_no_time_gives_what_there_is() -> None:
    one, again = (train_links(kinship(), QUICK, seed=3) for _ in range(2))
    assert (one.entities == again.entities).all()
    at_once = train_links(kinship(), QUICK, seed=3, limit_seconds=1e-9)
    assert np.isfinite(at_once.entities).all()
    assert (one.entities != at_once.entities).any()


def test_too_few_triples_odd_sizes_and_no_numbers_are_refused() -> None:
    with pytest.raises(UsageError, match="too few"):
        train_links(kinship()[:3])
    with pytest.raises(RangeError, match="even"):
        LinkSettings(dim=3)
    two = np.ones((1, 2), np.float32)
    with pytest.raises(RangeError, match="NaN"):
        Links(Names(("a",), ("r",)), two * np.nan, two)
