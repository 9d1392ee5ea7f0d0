"""The page of threats names for each of the 26 a test that is there; so does the page of tests."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECURITY = (ROOT / "docs" / "SECURITY.md").read_text("utf-8")
TESTING = (ROOT / "docs" / "TESTING.md").read_text("utf-8")
_NAMED = re.compile(r"`((?:tests/|bench/)?[\w/]+\.py|tests/[\w/]+/?)`")


def there(name: str) -> bool:
    return any((ROOT / folder / name).exists() for folder in ("", "tests", "server/deploy"))


def test_each_threat_names_a_test_that_is_there() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", SECURITY, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 27))
    for number, row in rows:
        named = _NAMED.findall(row)
        assert named, number
        assert [each for each in named if not there(each)] == [], number
        assert any("test" in each for each in named), number


def test_the_page_of_tests_names_files_that_are_there() -> None:
    named = _NAMED.findall(TESTING)
    assert len(named) > 25
    assert [each for each in named if not there(each)] == []


def test_every_test_of_security_is_on_a_page() -> None:
    ours = {each.name for each in (ROOT / "tests").glob("test_security_*.py")}
    assert len(ours) > 8
    assert {each for each in ours if each not in SECURITY + TESTING} <= {Path(__file__).name}
