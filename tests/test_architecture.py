"""What is drawn is what is there."""

import re
import subprocess
import sys
import tomllib

import shiyi.errors
from shiyi.cli import VERBS
from tests.support.places import ROOT

PAGE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_drawing_of_the_floors_is_the_contract() -> None:
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    [floors] = [c["layers"] for c in contracts if c["type"] == "layers"]
    drawn = PAGE.split("```")[1].strip().splitlines()
    assert len(floors) > 0
    assert drawn == floors


def test_every_module_on_the_page_exists() -> None:
    paths = set(re.findall(r"(?<![\w./])[a-z]+(?:/[a-z0-9_]+)+(?![\w*/.]|\.\w)", PAGE))
    assert len(paths) > 40
    package = ROOT / "src/shiyi"
    present = {path for path in paths if (package / path).is_dir()}
    present |= {path for path in paths if (package / f"{path}.py").is_file()}
    assert paths - present == set()


def test_the_tree_of_errors_is_drawn() -> None:
    drawn = {word for word in (shiyi.errors.__doc__ or "").split() if word.endswith("Error")}
    raised = {name for name in vars(shiyi.errors) if name.endswith("Error")}
    assert len(raised) > 0
    assert drawn == raised


def test_every_error_but_first_belongs_to_tree() -> None:
    for name, item in vars(shiyi.errors).items():
        if name.endswith("Error"):
            assert issubclass(item, shiyi.errors.ShiyiError), name


def test_every_verb_is_documented() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    assert len(VERBS) > 5
    assert [verb for verb in VERBS if f"`shiyi {verb}" not in page] == []


def test_every_named_query_begins_with_bilingual_question() -> None:
    queries = list((ROOT / "sparql").glob("*.rq"))  # the pages of queries are made from these
    assert len(queries) > 5
    first = {path.stem: path.read_text("utf-8").partition("\n")[0] for path in queries}
    assert [name for name, line in first.items() if " / " not in line or line[0] != "#"] == []


def test_every_shape_is_documented() -> None:
    page = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    shapes = [path.stem for path in (ROOT / "shapes").glob("*.ttl")]
    assert [name for name in shapes if f"`{name}`" not in page] == []


def test_help_loads_nothing_heavy() -> None:
    check = (
        "import sys, shiyi.cli\n"
        "assert shiyi.cli.main(['--help']) == 0\n"
        "heavy = {'numpy', 'rdflib', 'flask', 'pyshacl', 'owlready2', 'scipy', 'openai', 'torch',\n"
        "  'pydantic_settings', 'shiyi.settings'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    process = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    )
    assert process.stderr.strip() == "[]"
