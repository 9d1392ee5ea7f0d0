"""Every switch and every sweep changes what is retrieved, and every method reads every task."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from measure import main as measure
from runs import SWEPT, Sweep, run_sweep, set_parameter

from shiyi.answering.retrieval.library import Library
from shiyi.answering.retrieval.passages import Unit
from shiyi.answering.runtime import write_indexes
from shiyi.errors import FormatError, UsageError
from shiyi.evaluation.ablations import ABLATIONS, chunks, usual_method
from shiyi.evaluation.bench import METHODS, EvaluationContext, Request
from shiyi.evaluation.runner import TASKS, evaluate
from shiyi.model.iris import resource
from shiyi.model.rdf import Literal, Quad
from shiyi.ontology.terms import SKOS
from shiyi.settings import Settings
from shiyi.sparql.base.knowledge_base import KnowledgeBase, build_generation
from tests.answering.methods.test_published import planted
from tests.support import bases

QUESTIONS = (
    ("胃不适宜吃什么", ("姜茶", "绿豆汤", "百合", "花生")),
    ("失眠、目不交睫的人宜吃什么", ("百合", "山药", "绿豆", "藜芦")),
    ("阴虚质适宜食用", ("百合", "枸杞子", "花生百合粥", "藜芦")),
    ("绿豆的药性是寒还是凉", ("寒", "凉", "温", "热")),
    ("脾胃虚寒证的表现", ("喜温", "口渴", "胃不适", "失眠")),
    ("upset stomach suitable food", ("ginger tea", "mung bean soup", "goji berry", "peanut")),
)
ASKED = [f"第{i}种做法，煎汤代茶，加百合、枸杞子、山药、绿豆与生姜" for i in range(12)]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a small base with its indexes, vectors included."""
    folder = tmp_path_factory.mktemp("switches") / "kb"
    texts = (
        Quad(resource(name), SKOS.definition, Literal(f"{text}{name}", language="zh"))
        for text in ASKED
        for name in ("substance-lily", "substance-yam", "dish-ginger")
    )
    build_generation(folder, (*bases.kitchen_quads(), *planted(), *texts), {})
    with KnowledgeBase.open(folder) as opened:
        write_indexes(opened, Settings())
    return folder


@pytest.fixture(scope="module")
def base(kb: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(kb) as opened:
        yield opened


@pytest.fixture(scope="module")
def whole(base: KnowledgeBase) -> EvaluationContext:
    bench = EvaluationContext(base, Settings(), Request("mcq", "none"))
    assert bench.runtime.claims
    return bench


def under(whole: EvaluationContext, method: str, *ablate: str) -> EvaluationContext:
    request = replace(whole.request, methods=(method,), ablate=ablate)
    bench = EvaluationContext(whole.base, whole.settings, request, whole.resources)
    bench.__dict__["runtime"] = whole.runtime
    return bench


def found(bench: EvaluationContext, method: str) -> list[object]:
    """Scores of options, and for methods of answering the claims in their order."""
    scorer = bench.scorer(method)
    entries: list[object] = [scorer.scores(stem, options) for stem, options in QUESTIONS]
    if method in {"spot", "layers", "therapy", "chain"}:
        reader = bench.reader_for(method)
        entries += [[f.fact.claim for f in reader.claims(stem)] for stem, _ in QUESTIONS]
    return entries


PAIRS = [
    (switch, method)
    for switch, methods in ABLATIONS.items()
    for method in sorted(methods - {"transe", "rotate", "neighbourhood"})
    if switch != "general-kg-only"
]


@pytest.mark.parametrize(("switch", "method"), PAIRS)
def test_every_switch_changes_what_its_methods_find(
    whole: EvaluationContext, switch: str, method: str
) -> None:
    assert found(under(whole, method), method) != found(under(whole, method, switch), method)


def test_general_graph_has_no_school_or_answered_question(whole: EvaluationContext) -> None:
    settings = replace(whole.settings, chain=replace(whole.settings.chain, school="伤寒"))
    bench = under(whole, "chain", "general-kg-only")
    bench.__dict__["runtime"] = replace(whole.runtime, settings=settings)
    runtime = bench.runtime_for("chain")
    assert runtime.settings.chain.school == ""
    assert runtime.casebook.chains == ()


def test_all_switches_of_the_papers_are_there() -> None:
    names = (
        "deterministic no-ranking random-paths no-multilayer spo-without-text keyword-only "
        "vector-only no-reflection macro-only micro-only fixed-chunks general-kg-only"
    )
    assert set(ABLATIONS) >= set(names.split())


def test_switch_that_changes_none_of_methods_is_refused() -> None:
    with pytest.raises(UsageError, match="does not change paths"):
        Request("mcq", "none", methods=("paths",), ablate=("no-reflection",))
    with pytest.raises(FormatError, match="luck"):
        Request("mcq", "none", ablate=("luck",))


@pytest.mark.parametrize("switch", ABLATIONS)
def test_switch_alone_chooses_method_that_it_changes(switch: str) -> None:
    assert usual_method([switch]) in ABLATIONS[switch]
    Request("mcq", "none", methods=(usual_method([switch]),), ablate=(switch,))


def test_chunks_lose_no_character_and_no_claim() -> None:
    texts = [Unit(f"u{i}", "claim", f"健脾益气{i} ginger tea", (f"c{i}",)) for i in range(7)]
    cut = list(chunks(texts, 10))
    joined = "".join(u.text for u in cut).replace(" ", "")
    assert joined == "".join(u.text for u in texts).replace(" ", "")
    assert {c for u in cut for c in u.claims} == {f"c{i}" for i in range(7)}
    assert len({u.iri for u in cut}) == len(cut) > 1


def test_a_library_of_chunks_is_searched_by_words() -> None:
    texts = [Unit(f"u{i}", "claim", f"第{i}条 百合润肺安神", (f"c{i}",)) for i in range(4)]
    library = Library.build(chunks(texts, 9), "r", None)
    assert library.by_words("百合润肺", 3)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("questions")
    values = {
        "mcq": {"question": QUESTIONS[0][0], "options": {"A": "山药", "B": "绿豆"}, "answer": "A"},
        "truefalse": {"statement": "山药适合气虚质", "answer": "true"},
        "syndrome": {"question": "胃脘隐痛，喜温喜按，便溏", "answer": {"证名": "脾胃虚寒证"}},
    }
    made = {}
    for task, row in values.items():
        made[task] = folder / f"{task}.jsonl"
        made[task].write_text(json.dumps(row, ensure_ascii=False), "utf-8")
    made["recommend"] = folder / "train.txt"
    made["recommend"].write_text("0 1\t0\n1\t1 0\n0\t1\n", "utf-8")
    (folder / "sym_mapping.txt").write_text("失眠 0\n心烦 1\n", "utf-8")
    (folder / "herb_mapping.txt").write_text("百合 0\n山药 1\n", "utf-8")
    return made


@pytest.mark.neural
@pytest.mark.parametrize("task", ["mcq", "truefalse", "syndrome", "recommend"])
def test_every_method_reads_every_task(
    whole: EvaluationContext, files: dict[str, Path], task: str
) -> None:
    request = Request(task, str(files[task]), methods=METHODS)
    bench = EvaluationContext(whole.base, whole.settings, request, whole.resources)
    bench.__dict__["runtime"] = whole.runtime
    report = TASKS[task](bench, request, lambda *_: None)
    assert [run.method for run in report.runs] == list(METHODS)
    assert all(values for run in report.runs for values in run.values.values())


@pytest.mark.parametrize("name", SWEPT)
def test_a_sweep_sets_its_parameter(name: str) -> None:
    request, settings = set_parameter(
        Request("mcq", "none"), Settings(), name, 1.0 if name != "damping" else 0.5
    )
    assert (request, settings) != (Request("mcq", "none"), Settings()) or name == "hops"


def test_sweep_measures_at_every_value_in_one_report(
    base: KnowledgeBase, files: dict[str, Path]
) -> None:
    request = Request("mcq", str(files["mcq"]), methods=("paths",))
    report = run_sweep(base, Settings(), request, Sweep.read("k=1,30"))
    one, thirty = report.to_json()
    assert (one["sweep"], thirty["sweep"]) == ({"k": 1.0}, {"k": 30.0})
    assert "paths k=30" in report.table()
    delta = run_sweep(
        base, Settings(), replace(request, methods=("layers",)), Sweep.read("delta=0,0.6")
    )
    assert [run.at for run in delta.runs] == [{"delta": 0.0}, {"delta": 0.6}]


@pytest.mark.parametrize("text", ["k", "k=", "luck=1", "k=many"])
def test_what_is_no_sweep_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--sweep is NAME=VALUE"):
        Sweep.read(text)


def test_the_command_sweeps(
    kb: Path, files: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["mcq", str(files["mcq"]), "--method", "paths", "--sweep", "hops=1,2", "--json"]
    assert measure([*words, "--kb", str(kb)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [item["settings"]["hops"] for item in lines] == [1, 2]


def test_a_fraction_of_a_count_is_refused() -> None:
    with pytest.raises(UsageError, match="whole number"):
        set_parameter(Request("mcq", "none"), Settings(), "k", 1.5)
    with pytest.raises(UsageError, match="k is 1 to 1000"):
        set_parameter(Request("mcq", "none"), Settings(), "k", 0)


def test_a_switched_run_says_so(base: KnowledgeBase, files: dict[str, Path]) -> None:
    request = Request("mcq", str(files["mcq"]), methods=("spot",), ablate=("no-reflection",))
    [text] = evaluate(base, Settings(), request).to_json()
    assert text["ablate"] == ["no-reflection"]
