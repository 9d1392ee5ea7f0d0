import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiyi.errors import QueryError
from shiyi.model.claim import Polarity, Status
from shiyi.model.iris import VOCAB, resource
from shiyi.model.path import RelationPath, Step
from shiyi.reasoning.adjacency import Projection
from shiyi.sparql.queries.paths import find_paths, path_query
from shiyi.sparql.store.oxigraph import OxigraphStore
from tests.support import bases

KNOWN = frozenset(
    VOCAB + name for name in ("suitableFood", "relatedConstitution", "hasManifestation", "fears")
)
STORE = bases.stored()
STEPS = st.builds(Step, st.sampled_from(sorted(KNOWN)), st.booleans())
RELATION_PATHS = st.lists(STEPS, min_size=1, max_size=3).map(tuple)
SEEDS = st.lists(st.sampled_from(sorted(map(bases.iri, bases.CONCEPTS))), min_size=1, max_size=4)


def step(name: str, forward: bool = True) -> Step:
    return Step(VOCAB + name, forward)


@given(path=RELATION_PATHS, seeds=SEEDS)
@settings(max_examples=60, deadline=None)
def test_sparql_and_the_projection_find_the_same_paths(
    path: RelationPath, seeds: list[str]
) -> None:
    query = path_query(path, seeds, known=KNOWN, limit=500, max_hops=3)
    projection = Projection.from_store(STORE, "test")
    walked = projection.walk(path, seeds, 500)
    assert {p.hops for p in find_paths(STORE, query).paths} == {p.hops for p in walked.paths}


@given(path=RELATION_PATHS, seeds=SEEDS)
@settings(max_examples=60, deadline=None)
def test_built_query_reads_known_properties_only_and_parses(
    path: RelationPath, seeds: list[str]
) -> None:
    text = path_query(path, seeds, known=KNOWN, limit=10, max_hops=3).text
    words = text.upper().split()
    assert not {"INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "SERVICE", "OPTIONAL", "BIND"} & {
        *words
    }
    assert text.count("LIMIT 10") == 1
    list(STORE.select(text))


@pytest.mark.parametrize(
    ("path", "seeds"),
    [
        ((step("madeUp"),), ["https://e.org/a"]),
        ((), ["https://e.org/a"]),
        ((step("fears"),) * 4, ["https://e.org/a"]),
        ((step("fears"),), []),
        ((step("fears"),), ["no iri } DROP ALL"]),
    ],
)
def test_what_cannot_be_a_path_query_is_refused(path: RelationPath, seeds: list[str]) -> None:
    with pytest.raises(QueryError):
        path_query(path, seeds, known=KNOWN, limit=10, max_hops=3)


def test_a_reached_limit_is_reported() -> None:
    path = (step("relatedConstitution"), step("suitableFood"))
    seeds = [bases.iri("symptom-sleep")]
    results = [
        find_paths(STORE, path_query(path, seeds, known=KNOWN, limit=n, max_hops=3))
        for n in (2, 50)
    ]
    assert [rows.reached_limit for rows in results] == [True, False]
    assert len(results[1].paths) == 4


def test_unaccepted_or_negative_claim_is_no_hop() -> None:
    extra = [
        bases.kitchen_claim(
            "constitution-qi-deficiency",
            "suitableFood",
            resource("substance-goji"),
            status=Status.CANDIDATE,
        ),
        bases.kitchen_claim(
            "constitution-qi-deficiency",
            "suitableFood",
            resource("substance-yam"),
            polarity=Polarity.NEGATIVE,
        ),
    ]
    store: OxigraphStore = bases.stored(extra)
    query = path_query(
        (step("suitableFood"),),
        [bases.iri("constitution-qi-deficiency")],
        known=KNOWN,
        limit=9,
        max_hops=3,
    )
    paths = find_paths(store, query).paths
    assert [path.entities[-1] for path in paths] == [bases.iri("substance-yam")]
    assert len(Projection.from_store(store, "x")) == len(Projection.from_store(STORE, "x"))
