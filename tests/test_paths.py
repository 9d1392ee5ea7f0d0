import pytest

from shiyi.answering import finders
from shiyi.answering.ranking import SCORERS, diverse, scored
from shiyi.answering.roles import EDIBLE
from shiyi.errors import FormatError
from shiyi.model.path import Hop, Path
from shiyi.settings import PathSettings, Settings
from tests import kitchen

RANK = {"b": 2.0, "c": 3.0}
PATH = Path((Hop("a", "p", "b", "1", 0.5), Hop("b", "p", "c", "2", 0.4)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean_entities", (0.5 * 2 + 0.4 * 3) / 3),
        ("mean_hops", (0.5 * 2 + 0.4 * 3) / 2),
        ("sum", 0.5 * 2 + 0.4 * 3),
        ("product", 0.5 * 0.4 * 2.5),
        ("min", 0.4 * 2.5),
    ],
)
def test_a_scorer_gives_what_its_equation_says(name: str, expected: float) -> None:
    assert SCORERS[name](PATH, RANK) == pytest.approx(expected)


def test_ten_paths_are_not_one() -> None:
    hub = [Path((Hop("a", "p", "hub", "h", 1.0), Hop("hub", "p", f"e{i}", str(i), 1.0)))
           for i in range(20)]  # fmt: skip
    other = Path((Hop("a", "p", "small", "s", 0.1), Hop("small", "p", "z", "t", 0.1)))
    rank = {f"e{i}": 2.0 for i in range(20)} | {"hub": 9.0}
    shown = diverse(scored([*hub, other], rank, SCORERS["sum"]), 10)
    assert other.hops in [path.hops for path in shown]
    assert len(shown) == 5


def test_both_engines_answer_alike() -> None:
    question = "失眠吃什么好？"
    from shiyi.answering import ask

    said = []
    for engine in ("projection", "sparql"):
        answer = ask(
            kitchen.runtime(settings=Settings(paths=PathSettings(engine=engine))), question
        )
        said.append((answer.text, answer.paths))
    assert said[0] == said[1]


def test_both_engines_gather_the_same_paths() -> None:
    seeds = [
        iri for iri in kitchen.runtime().facts.classes if "symptom" in iri or "syndrome" in iri
    ]
    found = []
    for engine in ("projection", "sparql"):
        made = kitchen.runtime(settings=Settings(paths=PathSettings(engine=engine)))
        got = made.retriever.retrieve(seeds, EDIBLE, 10, 0.3)
        found.append((got.paths, got.shown, got.relation_paths, got.queries))
    assert found[0] == found[1]
    assert len(found[0][0]) > 3


def test_of_a_hubs_many_paths_those_are_kept_that_may_be_shown_or_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = kitchen.runtime()
    seeds = [iri for iri in made.facts.classes if "symptom" in iri or "syndrome" in iri]
    whole = made.retriever.retrieve(seeds, EDIBLE, 10, 0.0)
    monkeypatch.setattr(finders, "_ALL", 1)
    monkeypatch.setattr(finders, "_ENDS", 3)
    monkeypatch.setattr(finders, "_WAYS", 1)
    monkeypatch.setattr(finders, "_BEST", len(whole.paths) // 2)
    favoured = {path.hops[-1].end for path in whole.paths[-2:]}
    cut = made.retriever.retrieve(seeds, EDIBLE, 10, 0.0, favoured=favoured)
    assert set(cut.paths) <= set(whole.paths)
    assert len(cut.paths) < len(whole.paths)
    assert cut.paths[:1] == whole.paths[:1]
    assert cut.relation_paths == whole.relation_paths
    assert favoured <= {path.hops[-1].end for path in cut.paths}
    assert any(step["step"] == "kept" for step in cut.steps)


def test_an_unknown_engine_or_scorer_is_refused() -> None:
    with pytest.raises(FormatError):
        kitchen.runtime(settings=Settings(paths=PathSettings(engine="magic")))
    from shiyi.answering import ask

    made = kitchen.runtime(settings=Settings(paths=PathSettings(scorer="magic")))
    with pytest.raises(FormatError):
        ask(made, "失眠吃什么好？")
