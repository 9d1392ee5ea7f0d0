"""gettext catalogues and language negotiation."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Self

from babel.messages.mofile import read_mo
from babel.numbers import format_decimal
from babel.support import NullTranslations, Translations
from flask import Flask, g, has_request_context, request
from flask_babel import Babel, get_translations

from shiyi.artefacts import artefact

LANGUAGES: Final = ("zh", "en")
COOKIE: Final = "lang"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language, by key."""

    language: str
    translations: NullTranslations
    _found: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    @cache
    def load(cls, language: str) -> Self:
        """Read the compiled catalogue of a language, once."""
        return cls(language, Translations.load(str(artefact("server/i18n")), [language]))

    def __call__(self, key: str, **values: object) -> str:
        """Return the text at ``key`` with its ``%(holes)s`` filled; KeyError where there is none.

        Where a text has a plural, a whole number ``n`` chooses it and is formatted.

        >>> Catalogue.load("en")("search.count", n=1), Catalogue.load("en")("search.count", n=2100)
        ('1 result', '2,100 results')
        """
        text, counted = key, values.get("n")
        if isinstance(counted, int):
            text = self.translations.ungettext(key, key, counted)
            values = values | {"n": format_decimal(counted, locale=self.language)}
        text = self.get(key) if text == key else text
        if not text:
            raise KeyError(key)
        return text % values if values else text

    def get(self, key: str, default: str = "") -> str:
        """Return the text at ``key``, or ``default`` where the catalogue need not have it."""
        if (known := self._found.get(key)) is not None:
            return known
        found = self.translations.ugettext(key)
        if found == key:
            return default
        self._found[key] = found
        return found


def localise(app: Flask) -> None:
    """Set Flask-Babel to the reader's language on ``app``."""
    Babel(
        app,
        locale_selector=choose_language,
        default_locale="en",
        default_translation_directories=str(artefact("server/i18n")),
    )


def choose_language() -> str:
    """Return the language of ``lang=``, the cookie or Accept-Language, else English."""
    if not has_request_context():
        return "en"
    if "language" not in g:
        g.language = _choose()
    return str(g.language)


def _choose() -> str:
    for value in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if value in LANGUAGES:
            return value
    matched = request.accept_languages.best_match([*LANGUAGES, "zh-CN", "zh-TW", "zh-HK"])
    return matched[:2] if matched else "en"


_HOLE: Final = re.compile(r"\{\d?\}")


@cache
def _faults() -> tuple[Mapping[str, str], Sequence[tuple[list[str], str]]]:
    """Return the Chinese of faults without values, and of those with them, the longest first."""
    with artefact("server/i18n/zh/LC_MESSAGES/faults.mo").open("rb") as file:
        texts = {str(item.id): str(item.string) for item in read_mo(file) if item.id}
    parts = [(_HOLE.split(english), chinese) for english, chinese in texts.items()]
    parts.sort(key=lambda pair: -sum(map(len, pair[0])))
    return texts, [pair for pair in parts if len(pair[0]) > 1]


def fault_text(english: str, language: str = "") -> str:
    """Return what is wrong in the reader's language; the values in it stay as they are.

    >>> fault_text("a reason has at most 2,000 characters", "zh")
    '理由最多 2,000 字'
    """
    if (language or choose_language()) != "zh":
        return english
    whole, parts = _faults()
    plain = english[:1].lower() + english[1:]
    if (text := whole.get(english) or whole.get(plain)) and not _HOLE.search(text):
        return text
    if "\n" in english:
        return "\n".join(fault_text(line, "zh") if line else "" for line in english.split("\n"))
    for literals, chinese in parts:
        if (values := _values(literals, english) or _values(literals, plain)) is not None:
            return _fill_holes(chinese, [fault_text(value, "zh") for value in values])
    return english


def _fill_holes(chinese: str, values: Sequence[str]) -> str:
    """Fill holes: those with a number by that value, the others in their order."""
    order = iter(values)
    return _HOLE.sub(
        lambda hole: next(order) if hole[0] == "{}" else values[int(hole[0][1])], chinese
    )


def _values(literals: Sequence[str], text: str) -> list[str] | None:
    """Return what stands between some literals that a text is made of; None for another text."""
    first, *inner, last = literals
    at, end, results = len(first), len(text) - len(last), list[str]()
    if not (text.startswith(first) and text.endswith(last) and at <= end):
        return None
    for literal in inner:
        if (place := text.find(literal, at, end)) < 0:
            return None
        results.append(text[at:place])
        at = place + len(literal)
    return [*results, text[at:end]]


def catalogue() -> Catalogue:
    """Return the texts in the reader's language."""
    if not has_request_context():
        return Catalogue.load("en")
    return Catalogue(choose_language(), get_translations())
