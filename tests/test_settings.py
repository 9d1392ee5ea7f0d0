"""Settings are shown whole in one file, and refused by name."""

import tomllib
from dataclasses import asdict

import pytest

from shiyi.artefacts import artefact
from shiyi.errors import SettingError
from shiyi.settings import Settings

FILE = artefact("shiyi.toml").read_text(encoding="utf-8")
PLACES = {"kb", "base"}


def test_the_file_shows_every_setting_with_its_default() -> None:
    shown = tomllib.loads(FILE)
    assert len(shown) > 0
    assert shown == {k: v for k, v in asdict(Settings()).items() if k not in PLACES}


@pytest.mark.parametrize(
    "wrong", ["paths = 1", "path.top_k = 1", "paths.top_k = true", "paths.nothing = 1", "kb = 'x'"]
)
def test_a_wrong_setting_is_refused_by_name(wrong: str) -> None:
    with pytest.raises(SettingError, match=r"path|kb"):
        Settings.read(wrong, {})


def test_broken_toml_is_a_setting_error() -> None:
    with pytest.raises(SettingError, match="not TOML"):
        Settings.read("paths = [", {})


def test_the_environment_wins_over_the_file() -> None:
    settings = Settings.read("paths.top_k = 5", {"SHIYI_PATHS_TOP_K": "7", "SHIYI_KB": "elsewhere"})
    assert settings.paths.top_k == 7
    assert str(settings.kb) == "elsewhere"
    assert Settings.read("", {"SHIYI_BASE": "https://e.org/x"}).base == "https://e.org/x/"
    with pytest.raises(SettingError, match="SHIYI_BASE"):
        Settings.read("", {"SHIYI_BASE": "e.org"})


@pytest.mark.parametrize("value", ["many", "1.5", ""])
def test_wrong_environment_value_is_refused_by_its_variable(value: str) -> None:
    with pytest.raises(SettingError, match="SHIYI_PATHS_TOP_K"):
        Settings.read("", {"SHIYI_PATHS_TOP_K": value})
