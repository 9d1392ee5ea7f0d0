"""Write bench/tables/calibration.md and its diagram: how often judged claims hold, by kind."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shiyi.ingest.tables.starter import load_starter
from shiyi.model.claim import Claim, EvidenceKind
from shiyi.model.rdf import local_name, text

ROOT = Path(__file__).parents[2]
JUDGED = ROOT / "bench/judged"
PAGE, DIAGRAM = (ROOT / f"bench/tables/calibration.{end}" for end in ("md", "svg"))
COLOURS = {"read": "#2f6f4f", "row": "#2f4f9f", "recalled": "#b3541e"}
BINS = 10
SIDE, EDGE = 320, 48
Points = list[tuple[float, bool]]  # the confidence of a claim, and whether it was judged right


def kind_of(claim: Claim) -> str:
    """Return the kind of evidence of a claim that counts most."""
    kinds = {item.kind for item in claim.evidence}
    order = (EvidenceKind.READ, EvidenceKind.ROW, EvidenceKind.INFERRED, EvidenceKind.RECALLED)
    return next(str(item.value) for item in order if item in kinds)


def points() -> Mapping[str, Points]:
    """Return the judged claims that still stand, by kind."""
    claims = {
        tuple(local_name(text(x)) for x in (c.subject, c.predicate, c.object)): c
        for c in load_starter().claims
        if c.text is None and c.is_asserted
    }
    found: dict[str, Points] = defaultdict(list)
    for name in ("pointers.tsv", "recalled.tsv"):
        with (JUDGED / name).open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                claim = claims.get((row["subject"], row["predicate"], row["object"]))
                if claim:
                    right = row["verdict"] == "right"
                    found[kind_of(claim)].append((claim.confidence.value, right))
    return found


def bins(judged: Sequence[tuple[float, bool]]) -> Iterator[tuple[float, float, int]]:
    """Yield mean confidence, share that is right and count of each tenth that has claims."""
    for place in range(BINS):
        own = [item for item in judged if min(int(item[0] * BINS), BINS - 1) == place]
        if own:
            yield (
                sum(confidence for confidence, _ in own) / len(own),
                sum(right for _, right in own) / len(own),
                len(own),
            )


def error(judged: Sequence[tuple[float, bool]]) -> float:
    """Return the expected calibration error."""
    return sum(abs(mean - share) * n for mean, share, n in bins(judged)) / len(judged)


def draw(found: Mapping[str, Points]) -> str:
    """Return the diagram as SVG; a point's area is its count."""
    size, end, middle = SIDE + 2 * EDGE, EDGE + SIDE, EDGE + SIDE / 2
    dots = [
        f'<circle cx="{EDGE + x * SIDE:.1f}" cy="{EDGE + (1 - y) * SIDE:.1f}" '
        f'r="{3 + n**0.5 / 2:.1f}" fill="{COLOURS[kind]}" fill-opacity="0.7"/>'
        for kind, judged in found.items()
        for x, y, n in bins(judged)
    ]
    key = [
        f'<text x="{EDGE + 110 * n}" y="{EDGE - 14}" fill="{COLOURS[kind]}">{kind}</text>'
        for n, kind in enumerate(found)
    ]
    return "\n".join(
        (
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img" '
                'font-family="sans-serif" font-size="13">'
            ),
            "<title>Reliability of confidence by kind of evidence</title>",
            f'<rect width="{size}" height="{size}" fill="#fff"/>',
            (
                f'<rect x="{EDGE}" y="{EDGE}" width="{SIDE}" height="{SIDE}" fill="none" '
                'stroke="#888"/>'
            ),
            (
                f'<line x1="{EDGE}" y1="{end}" x2="{end}" y2="{EDGE}" stroke="#bbb" '
                'stroke-dasharray="4"/>'
            ),
            *dots,
            *key,
            f'<text x="{middle}" y="{end + 32}" text-anchor="middle">confidence (0–1)</text>',
            (
                f'<text x="18" y="{middle}" text-anchor="middle" '
                f'transform="rotate(-90 18 {middle})">share judged right (0–1)</text>'
            ),
            "</svg>\n",
        )
    )


def page(found: Mapping[str, Points]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield "# Calibration of confidence by kind of evidence\n"
    yield (
        "Claims of two samples that one reader judged by hand: of pointers "
        "([pointers.tsv](../judged/pointers.tsv): whether the words support the claim) and of "
        "claims\nwithout opened evidence ([recalled.tsv](../judged/recalled.tsv): whether it is "
        "common professional knowledge). `python docs/make/calibration.py` writes this page.\n"
    )
    yield "| kind | judged | right | mean confidence | ECE |\n|---|--:|--:|--:|--:|"
    for kind, judged in found.items():
        right, mean = sum(item for _, item in judged), sum(item for item, _ in judged)
        yield (
            f"| {kind} | {len(judged)} | {100 * right / len(judged):.1f} % | "
            f"{mean / len(judged):.2f} | {error(judged):.3f} |"
        )
    yield (
        "\n![Share judged right by confidence and kind](calibration.svg)\n\n"
        "Confidence is lower than the share that is right, most of all for what is recalled: it "
        "states how far a claim can be checked, not only how likely it is. Both samples have too "
        "few\nwrong claims to fit a curve, so none is fitted."
    )


def main() -> None:
    """Write the page and the diagram."""
    found = dict(sorted(points().items(), key=lambda item: list(COLOURS).index(item[0])))
    DIAGRAM.write_text(draw(found), "utf-8")
    PAGE.write_text("\n".join(page(found)) + "\n", "utf-8")


if __name__ == "__main__":
    main()
