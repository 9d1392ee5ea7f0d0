"""Values cannot exist wrong, and claims are named by what they say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.errors import RangeError, UsageError
from shiyi.model.claim import (
    CEILING,
    Claim,
    Confidence,
    Evidence,
    Polarity,
    Source,
    Status,
    Tier,
    fuse,
)
from shiyi.model.path import Hop, Path
from shiyi.model.profile import Profile
from shiyi.model.rdf import Literal, NamedNode, Triple, decimal
from shiyi.ontology.serialization import claim_quads
from shiyi.ontology.terms import RDF, SHIYI
from tests.tables import from_table

A, P, B = (NamedNode(f"https://example.org/{name}") for name in "apb")
BOOK = Source("book", "书", "Book", Tier.TEXTBOOK)
SAID = Evidence(BOOK, Confidence(0.9))
votes = st.lists(
    st.tuples(st.sampled_from("abc"), st.floats(0, 1).map(Confidence)), min_size=1, max_size=9
)


@given(votes)
def test_fused_confidence_is_not_below_best_vote(given_votes: list[tuple[str, Confidence]]) -> None:
    fused = fuse(given_votes).value
    best = max(vote.value for _, vote in given_votes)
    assert best - 1e-6 <= fused <= max(CEILING, best)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan, math.inf])
def test_a_confidence_outside_its_range_cannot_exist(wrong: float) -> None:
    with pytest.raises(RangeError):
        Confidence(wrong)


def test_same_statement_of_any_agent_has_same_iri() -> None:
    other = Evidence(Source("b2", "书二", "Book 2", Tier.CLASSIC), Confidence(0.5))
    assert Claim(A, P, B, (SAID,)).iri == Claim(A, P, B, (other,)).iri
    assert Claim(A, P, B, (SAID,)).iri != Claim(A, P, B, (SAID,), Polarity.NEGATIVE).iri
    assert (
        Claim(A, P, Literal("b"), (SAID,)).iri
        != Claim(A, P, Literal("b", language="en"), (SAID,)).iri
    )


def test_a_claim_without_evidence_cannot_exist() -> None:
    with pytest.raises(RangeError, match="needs evidence"):
        Claim(A, P, B, ())


def test_accepted_claim_asserted_and_reified_by_own_iri() -> None:
    claim = Claim(A, P, B, (SAID,))
    quads = {(q.subject, q.predicate, q.object) for q in claim_quads(claim)}
    assert (A, P, B) in quads
    assert (claim.iri, RDF.reifies, Triple(A, P, B)) in quads
    assert (claim.iri, SHIYI.confidence, decimal(0.9)) in quads


@from_table
def test_what_is_not_accepted_or_negated_only_mentioned(polarity: Polarity, status: Status) -> None:
    claim = Claim(A, P, B, (SAID,), polarity, status)
    quads = {(q.subject, q.predicate, q.object) for q in claim_quads(claim)}
    assert (A, P, B) not in quads
    assert {(claim.iri, RDF.subject, A), (claim.iri, RDF.object, B)} <= quads


def test_joining_claims_keeps_every_piece_of_evidence_once() -> None:
    other = Evidence(BOOK, Confidence(0.5), locator="elsewhere")
    claim = Claim(A, P, B, (SAID,)).join(Claim(A, P, B, (SAID, other)))
    assert claim.evidence == (SAID, other)
    with pytest.raises(RangeError, match="different things"):
        claim.join(Claim(B, P, A, (SAID,)))


def test_path_of_hops_that_do_not_join_raises() -> None:
    one, two = Hop("a", "p", "b", "c1", 0.5), Hop("c", "p", "d", "c2", 0.5)
    with pytest.raises(RangeError, match="breaks between b and c"):
        Path((one, two))
    assert Path((one, Hop("c", "p", "b", "c2", 0.4, forward=False))).entities == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ([], "JSON object"),
        ({"agee": 3}, "no field 'agee'"),
        ({"age": "old"}, "profile.age"),
        ({"age": True}, "profile.age"),
        ({"pregnant": "yes"}, "profile.pregnant"),
        ({"sex": "x"}, "profile.sex"),
        ({"medicines": "warfarin"}, "profile.medicines"),
        ({"medicines": ["x" * 500]}, "profile.medicines"),
        ({"constitution": 7}, "profile.constitution"),
    ],
)
def test_a_broken_profile_is_refused_by_field(text: object, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        Profile.from_json(text)
