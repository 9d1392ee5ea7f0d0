"""What a piece of text says once the known faults of its source are put right."""

import re
from collections import Counter
from collections.abc import Sequence

from shiyi.ingest.text.document import Repair

_BREAK = re.compile(r"[ \t]*\r*\n")
_ENDS = frozenset("。！？；…：∶”」』）)】〕》")
_OPENS = re.compile(
    r"[ \t\u3000]*(?:[一二三四五六七八九十]+[、，]|[（(〔【〈\\○●□*#|]|[0-9０-９]+[.．、])"
)
_WRAPPED = 30  # characters; a line that ends earlier is a title, an item or the end of a paragraph
JOINED = "broken lines"


def repaired(raw: str, repairs: Sequence[Repair], join: bool, counted: Counter[str]) -> str:
    r"""Give ``raw`` with faults put right and lines joined that break inside a sentence.

    >>> counted = Counter()
    >>> repaired("主寒热，\n止渴。\n生山谷。", (), True, counted), counted
    ('主寒热，止渴。\n生山谷。', Counter({'broken lines': 1}))
    """
    text = _joined(raw, counted) if join else raw
    for each in repairs:
        if found := text.count(each.wrong):
            counted[each.name] += found
            text = text.replace(each.wrong, each.right)
    return text.strip()


def _joined(raw: str, counted: Counter[str]) -> str:
    lines = [line.rstrip() for line in _BREAK.split(raw)]
    kept: list[str] = []
    for line in lines:
        if kept and _goes_on(kept[-1], line):
            kept[-1] += line.lstrip()
            counted[JOINED] += 1
        elif line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept)


def _goes_on(before: str, line: str) -> bool:
    """Tell whether the sentence of line ``before`` goes on in ``line``."""
    if not before or not line:
        return False
    if line[0] in "，。、；）" or before[-1] in "，、（《“":
        return True
    if before[-1] in _ENDS or before.endswith("\\x") or _OPENS.match(line):
        return False
    return len(before) >= _WRAPPED
