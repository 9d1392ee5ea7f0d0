"""Severities can be told apart by colour and by pattern, and their signs can be read."""

import re

import pytest

from shiyi.artefacts import artefact

CSS = artefact("server/static/css/shiyi.css").read_text(encoding="utf-8")
TOKENS = dict(re.findall(r"(--[\w-]+): (light-dark\((?:[^()]|\([^()]*\))*\))", CSS))
SEVERITIES = {
    name: (colour, pattern)
    for name, colour, pattern in re.findall(
        r"\.sev-(\w+) \{ --sev: var\((--\w+)\); --pattern: ([^}]*?); \}", CSS
    )
}
STRONG = ("contraindicated", "major", "moderate", "unrated", "minor")


def colours(token: str) -> list[tuple[int, ...]]:
    """Return a token's opaque colour in light and in dark."""
    results = re.findall(r"#([0-9a-f]{6})", TOKENS[token])
    assert len(results) == 2, token
    return [tuple(int(item[at : at + 2], 16) for at in (0, 2, 4)) for item in results]


def luminance(colour: tuple[int, ...]) -> float:
    parts = [number / 255 for number in colour]
    parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_no_two_severities_look_alike() -> None:
    assert set(SEVERITIES) == {*STRONG, "none_on_record"}
    assert len(set(SEVERITIES.values())) == len(SEVERITIES)
    assert SEVERITIES["moderate"][0] != SEVERITIES["unrated"][0]
    assert SEVERITIES["moderate"][1] != SEVERITIES["unrated"][1]


@pytest.mark.parametrize("severity", STRONG)
def test_signs_have_contrast_in_light_and_dark(severity: str) -> None:
    """Of the sign on its colour, with and without the pattern, and of the word on the paper."""
    shades = zip(
        colours(SEVERITIES[severity][0]),
        colours("--on-strong"),
        colours("--paper"),
        ((0, 26), (255, 38)),  # what --weave lays over it
        strict=True,
    )
    for colour, sign, paper, (tint, share) in shades:
        woven = tuple(round(c * (100 - share) / 100 + tint * share / 100) for c in colour)
        assert min(contrast(row, sign) for row in (colour, woven)) >= 4.5
        assert contrast(colour, paper) >= 4.5
    assert TOKENS["--weave"] == "light-dark(rgb(0 0 0 / 26%), rgb(255 255 255 / 38%))"
