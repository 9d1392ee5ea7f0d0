"""A statement that an entry of an old book makes, with the span that states it."""

from dataclasses import dataclass

CONTRAINDICATED, CAUTION, INCOMPATIBLE = "contraindicatedIn", "cautionIn", "incompatibleWith"
EFFICACY, RELIEVES, CHANNEL = "hasEfficacy", "relieves", "hasMeridianTropism"
NATURE, FLAVOUR, TOXICITY = "hasNature", "hasFlavour", "hasToxicity"


@dataclass(frozen=True, slots=True)
class BookStatement:
    """What is stated of an entry or of its ``part``; the quote is ``[start, end)`` of the book.

    ``object`` is as written, miscodings put right. ``combined`` tells that it holds of a recipe
    with another drug, ``reported`` that a commentary says it.
    """

    relation: str
    object: str
    start: int
    end: int
    part: str = ""
    combined: bool = False
    reported: bool = False
