"""Draw docs/explanation/reliability.svg: how often claims hold that structure believes in so much."""

import argparse
from pathlib import Path

from shiyi.reasoning.adjacency import Projection
from shiyi.reasoning.confidence.evidence import Structure
from shiyi.reasoning.confidence.fusion import Calibration, fit_fusion
from shiyi.sparql.base.knowledge_base import KnowledgeBase

PAGE = Path(__file__).parents[1] / "explanation/reliability.svg"
SIDE, EDGE = 320, 48


def draw(found: Calibration) -> str:
    """Return the diagram as SVG; a point's area is its count."""

    def place(x: float, y: float) -> tuple[float, float]:
        return EDGE + x * SIDE, EDGE + (1 - y) * SIDE

    most = max(count for _, _, count in found.bins)
    dots = "\n".join(
        f'<circle cx="{place(x, y)[0]:.1f}" cy="{place(x, y)[1]:.1f}" '
        f'r="{3 + 7 * (count / most) ** 0.5:.1f}" fill="#2f6f4f"/>'
        for x, y, count in found.bins
    )
    size, end = SIDE + 2 * EDGE, EDGE + SIDE
    middle = EDGE + SIDE / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" '
        'font-family="sans-serif" font-size="13">\n'
        "<title>Reliability of structural belief / 结构可信度的可靠性图</title>\n"
        f'<rect width="{size}" height="{size}" fill="#fff"/>\n'
        f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>\n'
        f'<line x1="{EDGE}" y1="{end}" x2="{end}" y2="{EDGE}" stroke="#bbb" stroke-dasharray="4"/>\n'
        f"{dots}\n"
        f'<text x="{middle}" y="{end + 32}" text-anchor="middle">belief / 可信度 (0–1)</text>\n'
        f'<text x="18" y="{middle}" text-anchor="middle" transform="rotate(-90 18 {middle})">'
        "share that holds / 属实比例 (0–1)</text>\n"
        f'<text x="{EDGE}" y="{EDGE - 14}">ECE {found.ece:.3f}, Brier {found.brier:.3f}, '
        f"AUC {found.auc:.3f}, n = {found.rows:,}</text>\n</svg>\n"
    )


def main() -> None:
    """Calibrate on a base and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path, default=Path("kb"))
    with KnowledgeBase.open(parser.parse_args().kb) as base:
        graph = Projection.from_store(base.store, base.release)
    _, found = fit_fusion(Structure.of(graph))
    PAGE.write_text(draw(found), "utf-8")


if __name__ == "__main__":
    main()
