"""Plots as SVG: bars with their intervals, and curves of a sweep; drawn for the width of a phone."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, ROW, LEFT, RIGHT = 400, 26, 116, 48
SMALL, LARGE = 13, 14  # of letters
WIDER = 1.4  # where there is room
INK, FILL, LINE = "#26221c", "#b9552f", "#e4ddd2"
COLOURS = ("#b9552f", "#3f6b4f", "#31598a", "#8a6d1f", "#6b4a7e")


def bars(title: str, rows: Sequence[tuple[str, float, float, float]], most: float = 1.0) -> str:
    """Draw one bar a row: name, value, and the ends of its interval, from 0 to ``most``."""
    height = 40 + ROW * len(rows) + 12
    span = WIDTH - LEFT - RIGHT
    parts = [_text(8, 22, title, "start", LARGE)]
    for place, (name, value, low, high) in enumerate(rows):
        top = 38 + place * ROW
        middle = top + ROW / 2 - 2
        end = LEFT + span * value / most
        parts += [
            _text(LEFT - 8, middle + 4, name, "end"),
            (
                f'<rect x="{LEFT}" y="{top}" width="{max(0.0, end - LEFT):.1f}" height="{ROW - 6}" '
                f'fill="{FILL}" fill-opacity=".75"/>'
            ),
            (
                f'<line x1="{LEFT + span * low / most:.1f}" x2="{LEFT + span * high / most:.1f}" '
                f'y1="{middle:.1f}" y2="{middle:.1f}" stroke="{INK}" stroke-width="1.5"/>'
            ),
            _text(LEFT + span * high / most + 6, middle + 4, f"{value:.3f}", "start"),
        ]
    return _svg(height, parts)


def curves(
    title: str, xs: Sequence[float], lines: Mapping[str, Sequence[float]], most: float = 1.0
) -> str:
    """Draw one line per name over ``xs``, evenly spaced, from 0 to ``most``."""
    top, bottom, left = 40, 220, 44
    height = bottom + 34 + 20 * len(lines)
    span = WIDTH - left - 24
    step = span / max(1, len(xs) - 1)
    parts = [_text(8, 22, title, "start", LARGE)]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = bottom - (bottom - top) * share
        parts.append(f'<line x1="{left}" x2="{left + span}" y1="{y}" y2="{y}" stroke="{LINE}"/>')
        parts.append(_text(left - 8, y + 4, f"{share * most:.2f}", "end"))
    parts += [_text(left + i * step, bottom + 18, f"{x:g}", "middle") for i, x in enumerate(xs)]
    for place, (name, values) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(
            f"{left + i * step:.1f},{bottom - (bottom - top) * value / most:.1f}"
            for i, value in enumerate(values)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(_text(left, bottom + 42 + 20 * place, f"— {name}", "start", SMALL, colour))
    return _svg(height, parts)


def _svg(height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" '
        f'width="{WIDTH * WIDER:g}" height="{height * WIDER:g}" font-family="system-ui, sans-serif">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _text(x: float, y: float, words: str, anchor: str, size: int = SMALL, colour: str = INK) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
        f'fill="{colour}">{escape(words)}</text>'
    )
