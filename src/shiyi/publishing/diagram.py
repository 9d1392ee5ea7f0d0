"""The core of the vocabulary as a drawing: boxes of classes, arrows of properties."""

from collections.abc import Callable
from html import escape

WIDTH, HEIGHT = 1160, 720
_W, _H = 132, 40
_LINE = 17  # letters that fit a box in one line
_TOWARDS_END = 0.64  # where on an arrow its label stands, so that arrows of one box keep apart
# class -> the middle of its box
BOXES = {
    "Organism": (90, 60), "OrganismPart": (270, 60), "ChemicalEntity": (450, 60),
    "Nature": (650, 60), "Flavour": (810, 60), "Meridian": (970, 60),
    "DSProduct": (90, 220), "DSIngredient": (290, 220), "DietaryMaterial": (580, 220),
    "Efficacy": (830, 200), "Dish": (830, 290), "Formula": (1040, 290),
    "Drug": (90, 380), "Constitution": (450, 400), "Symptom": (640, 400),
    "Syndrome": (830, 400), "Therapy": (1040, 400), "Disease": (640, 510),
    "TCMDisease": (830, 510), "Population": (290, 510), "EmergencySign": (450, 510),
    "Claim": (330, 650), "Evidence": (570, 650), "Source": (810, 650), "School": (1040, 650),
    "Passage": (90, 650), "Section": (90, 540),
}  # fmt: skip
ARROWS = (
    ("DietaryMaterial", "derivedFromOrganism", "Organism"),
    ("DietaryMaterial", "usesPart", "OrganismPart"),
    ("DietaryMaterial", "hasActiveConstituent", "ChemicalEntity"),
    ("DietaryMaterial", "hasNature", "Nature"),
    ("DietaryMaterial", "hasFlavour", "Flavour"),
    ("DietaryMaterial", "hasMeridianTropism", "Meridian"),
    ("DietaryMaterial", "hasEfficacy", "Efficacy"),
    ("Dish", "hasIngredient", "DietaryMaterial"),
    ("DSProduct", "hasIngredient", "DSIngredient"),
    ("DSIngredient", "interactsWith", "Drug"),
    ("Constitution", "suitableFood", "DietaryMaterial"),
    ("DietaryMaterial", "relieves", "Symptom"),
    ("DietaryMaterial", "contraindicatedIn", "Syndrome"),
    ("Symptom", "relatedConstitution", "Constitution"),
    ("Syndrome", "hasManifestation", "Symptom"),
    ("Syndrome", "hasTreatmentPrinciple", "Therapy"),
    ("Therapy", "realisedBy", "Formula"),
    ("TCMDisease", "hasSyndrome", "Syndrome"),
    ("Symptom", "warrantsCheckFor", "Disease"),
    ("Symptom", "hasRedFlag", "EmergencySign"),
    ("DSIngredient", "cautionIn", "Population"),
    ("Claim", "evidence", "Evidence"),
    ("Claim", "supportedByText", "Passage"),
    ("Evidence", "dcterms:source", "Source"),
    ("Source", "belongsToSchool", "School"),
    ("Passage", "partOfSection", "Section"),
)


def diagram(title: str, label: Callable[[str], str]) -> str:
    """Draw the core as SVG; ``label`` gives the words of a term, which are links within the page.

    >>> diagram("核心", str).startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    True
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}"><defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" '
        'markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
    )
    parts = [head]
    parts += [_arrow(*each, label) for each in ARROWS]
    parts += [_box(name, label(name)) for name in BOXES]
    return "".join(parts) + "</svg>"


def _box(name: str, words: str) -> str:
    x, y = BOXES[name]
    lines = _lines(words)
    said = "".join(
        f'<text x="{x}" y="{y + 5 + 16 * i - 8 * (len(lines) - 1)}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<a href="#{escape(name)}"><rect x="{x - _W // 2}" y="{y - _H // 2}" width="{_W}" '
        f'height="{_H}" rx="6"/>{said}</a>'
    )


def _lines(words: str) -> list[str]:
    """Break a long label at the blank nearest its middle.

    >>> _lines("dietary supplement ingredient")
    ['dietary supplement', 'ingredient']
    """
    blanks = [i for i, letter in enumerate(words) if letter == " "]
    if len(words) <= _LINE or not blanks:
        return [words]
    at = min(blanks, key=lambda i: abs(i - len(words) / 2))
    return [words[:at], words[at + 1 :]]


def _arrow(start: str, name: str, end: str, label: Callable[[str], str]) -> str:
    x1, y1 = _edge(BOXES[start], BOXES[end])
    x2, y2 = _edge(BOXES[end], BOXES[start])
    level = abs(y2 - y1) < _H  # between neighbours of one row the label stands above, between them
    share = 0.5 if level else _TOWARDS_END
    x, y = round(x1 + (x2 - x1) * share), round(y1 + (y2 - y1) * share)
    said = f'<text class="said" x="{x}" y="{y - (26 if level else 3)}">{escape(label(name))}</text>'
    line = f'<path class="line" d="M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}" marker-end="url(#tip)"/>'
    return line + (said if ":" in name else f'<a href="#{escape(name)}">{said}</a>')


def _edge(inside: tuple[int, int], towards: tuple[int, int]) -> tuple[float, float]:
    """Give the point where the line between two middles leaves the first box."""
    dx, dy = towards[0] - inside[0], towards[1] - inside[1]
    scale = min(
        _W / 2 / abs(dx) if dx else float("inf"), _H / 2 / abs(dy) if dy else float("inf")
    )  # fmt: skip
    return inside[0] + dx * scale, inside[1] + dy * scale
