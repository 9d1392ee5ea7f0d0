"""The written forms of a label: as it stands, in the plural, without brackets or stops."""

import re
from collections.abc import Iterator

from shiyi.linking.labels import LATIN, PREFERRED, Label
from shiyi.linking.normalise import fold, has_cjk, is_latin

_BRACKETS = re.compile(r"\s*[(（\[][^()（）\[\]]*[)）\]]")
_HYPHEN = re.compile(r"(?<=[a-z])[-‐‑](?=[a-z])", re.IGNORECASE)
_STOPS = re.compile(r"[.']")
_BINOMIAL = re.compile(r"\b[A-Z][a-z]{2,} (?:× ?)?[a-z]{3,}(?: (?:var|subsp|f)\. [a-z]{3,})?")
_HEAD = re.compile(r"(?<=.{2})证$| pattern$")  # 肝郁气滞 says as much as 肝郁气滞证
_TELLS = re.compile(r"[\u3400-\u9fff]{2}|.+ ")
_UNINFLECTED = re.compile(r"(?:ss|us|is|ics|ea|sis)$")

# ranks of a written form among the forms of other concepts, best first
# (a Latin name is that of the organism, which several materials share)
OWN, OTHER, BOTANICAL, SHORTENED, SPOKEN = range(5)


def surfaces(label: Label) -> Iterator[tuple[str, int]]:
    """Yield folded forms and how directly each names the concept; the label itself first.

    >>> [form for form, _ in surfaces(Label("goji berry (dried)", "en", 0, "preferred"))]
    ['goji berry (dried)', 'goji berry (dried)', 'goji berry', 'goji berry', 'goji berries']
    """
    rank = {PREFERRED: OWN, LATIN: BOTANICAL}.get(label.role, OTHER)
    yield from _forms(label.text, label.language, rank)
    if (short := _BRACKETS.sub("", label.text).strip()) != label.text:
        yield from _forms(short, label.language, SHORTENED)
    if (bare := _HEAD.sub("", label.text)) != label.text and _TELLS.match(bare):
        yield from _forms(bare, label.language, SHORTENED)
        if label.language == "en":
            yield from _forms(f"{bare} syndrome", "en", SHORTENED)
    if len(said := label.pinyin) > 1:
        for between in (" ", ""):
            spoken = between.join(said)
            yield from ((each, SPOKEN) for each in {spoken, spoken.replace("v", "u")})
    if label.role == LATIN:
        for binomial in _BINOMIAL.findall(label.text):
            yield fold(binomial), rank


def _forms(text: str, language: str, rank: int) -> Iterator[tuple[str, int]]:
    folded = fold(text)
    if not folded:
        return
    yield folded, rank
    if language == "zh" and has_cjk(folded):
        return
    plain = {folded}
    if (joined := _HYPHEN.sub("", text)) != text:
        plain.add(fold(joined))
    plain |= {" ".join(_STOPS.sub("", form).split()) for form in plain}
    for form in sorted(plain):
        yield form, rank
        if language == "en":
            for inflected in inflections(form):
                yield inflected, rank


def inflections(form: str) -> Iterator[str]:
    """Yield the regular plurals and singulars of a phrase by its last word.

    >>> list(inflections("goji berry")), list(inflections("dates"))
    (['goji berries'], ['date'])
    """
    if len(form) < 4 or not form.isascii() or not form[-3:].isalpha():
        return
    if form.endswith("ies"):
        yield form[:-3] + "y"
    elif form.endswith(("ches", "shes", "xes", "oes", "sses")):
        yield form[:-2]
    elif form.endswith("s") and not _UNINFLECTED.search(form):
        yield form[:-1]
    elif form.endswith("y") and form[-2] not in "aeiou":
        yield form[:-1] + "ies"
    elif form.endswith(("ch", "sh", "x", "o")):
        yield form + "es"
        yield form + "s"
    elif not form.endswith("s"):
        yield form + "s"


def at_boundary(text: str, start: int, end: int) -> bool:
    """Say whether ``[start, end)`` begins and ends no Latin word or number in its middle.

    >>> at_boundary("gingerbread", 0, 6), at_boundary("吃vc片", 1, 3), at_boundary("b12", 0, 2)
    (False, True, False)
    """
    if start and is_latin(text[start]) and is_latin(text[start - 1]) and text[start - 1] != "'":
        return False
    if end == len(text) or not (is_latin(text[end - 1]) and is_latin(text[end])):
        return True
    return text[end] == "'"
