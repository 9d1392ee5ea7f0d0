"""Effects that were rated: what was found wanting recommends nothing, and a supplement needs a rated one."""

from dataclasses import replace

import pytest

from shiyi.answering import Runtime, ask
from shiyi.answering.candidates import _supported
from shiyi.answering.cues import Intent
from shiyi.answering.reading import Reading, read_question
from shiyi.model.path import Hop, Path
from shiyi.model.profile import Profile
from shiyi.ontology.terms import SHIYI

_RATED = SHIYI.isEffectiveFor.value


@pytest.fixture(scope="module")
def reading(runtime: Runtime) -> Reading:
    return read_question("insomnia", "en", Profile(), runtime.linker, runtime.facts)


def _ways(runtime: Runtime) -> tuple[Path, Path, Path]:
    """Give ways along an effect rated well, one found wanting, and what is nowhere rated."""
    facts = [f for found in runtime.facts.by_subject.values() for f in found]
    rated = [f for f in facts if f.predicate.value == _RATED]
    supports = runtime.safety.evidences.supports
    chosen = (
        next(f for f in rated if supports(f.claim)),
        next(f for f in rated if not supports(f.claim)),
        next(f for f in facts if f.predicate == SHIYI.hasEfficacy),
    )
    first, second, third = (
        Path((Hop(f.subject, f.predicate.value, f.object, f.claim, 0.8),), 0.8) for f in chosen
    )
    return first, second, third


def test_a_supplement_needs_a_rated_effect_where_one_has_it(
    runtime: Runtime, reading: Reading
) -> None:
    well, wanting, plain = _ways(runtime)
    asked = replace(reading, intents=frozenset({Intent.SUPPLEMENT}))
    assert _supported(asked, (well, wanting, plain), runtime.safety) == [well]
    assert _supported(asked, (wanting, plain), runtime.safety) == [plain]


def test_whatever_else_is_asked_for_needs_none_but_nothing_found_wanting(
    runtime: Runtime, reading: Reading
) -> None:
    well, wanting, plain = _ways(runtime)
    asked = replace(reading, intents=frozenset[Intent]())
    assert _supported(asked, (well, wanting, plain), runtime.safety) == [well, plain]


def test_of_sources_that_differ_the_most_careful_rating_counts(runtime: Runtime) -> None:
    evidences, facts = runtime.safety.evidences, runtime.facts
    kinds = {SHIYI.isEffectiveFor, SHIYI.interactsWith}
    claims = [
        claim for claim, found in facts.by_claim.items() if found[0].predicate in kinds or found[0].derived
    ]  # fmt: skip
    said = {
        claim: {value for each in evidences.of(claim, "en") for name, value in each.qualifiers if name == "rating"}
        for claim in claims
    }  # fmt: skip
    gravest = [
        "major",
        "moderate",
        "minor",
        "ineffective",
        "insufficient",
        "possible",
        "likely",
        "effective",
    ]
    differing = [claim for claim, ratings in said.items() if len(ratings) > 1]
    for claim, ratings in said.items():
        assert evidences.rating(claim) == min(ratings, key=gravest.index, default="")
    assert len(differing) > 10
    assert len([each for each in said.values() if each]) > 200


@pytest.mark.parametrize(
    ("question", "rating"),
    [
        ("Can I take goji with warfarin?", "major"),
        ("Can I take iron with levothyroxine?", "major"),
        ("Can I take iron with antacids?", "moderate"),
    ],
)
def test_a_grave_rating_is_told_beside_milder_ones_of_other_sources(
    runtime: Runtime, question: str, rating: str
) -> None:
    first = ask(runtime, question).text.partition("\n")[0]
    assert f"rating: {rating}" in first
