"""gettext catalogues and language negotiation."""

from dataclasses import dataclass
from functools import cache
from typing import Final, Self

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
        found = self.translations.ugettext(key)
        return default if found == key else found


def localise(app: Flask) -> None:
    """Set Flask-Babel to the reader's language on ``app``."""
    Babel(
        app,
        locale_selector=chosen_language,
        default_locale="en",
        default_translation_directories=str(artefact("server/i18n")),
    )


def chosen_language() -> str:
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


def catalogue() -> Catalogue:
    """Return the texts in the reader's language."""
    if not has_request_context():
        return Catalogue.load("en")
    return Catalogue(chosen_language(), get_translations())
