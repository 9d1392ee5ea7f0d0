"""Every text of the interface, in Chinese and in English, from ``server/i18n``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from flask import g, has_request_context, request

from shiyi.artefacts import artefact

LANGUAGES: Final = ("zh", "en")
COOKIE: Final = "lang"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The texts of one language, by dotted key."""

    language: str
    texts: Mapping[str, str]

    @classmethod
    @cache
    def load(cls, language: str) -> Self:
        """Read ``server/i18n/<language>.toml``, once."""
        toml = artefact(f"server/i18n/{language}.toml").read_text(encoding="utf-8")
        sections = tomllib.loads(toml)
        texts = {
            f"{section}.{key}": text
            for section, entries in sections.items()
            for key, text in entries.items()
        }
        return cls(language, texts)

    def __call__(self, key: str, **values: object) -> str:
        """Give the text at ``key`` with ``{holes}`` filled; a key that is not there is a KeyError."""
        text = self.texts[key]
        return text.format(**values) if values else text

    def get(self, key: str, default: str = "") -> str:
        """Give the text at ``key``, or ``default`` where the catalogue need not have it."""
        return self.texts.get(key, default)


def chosen_language() -> str:
    """Give the reader's language: ``lang=``, then the cookie, then Accept-Language, then English."""
    if not has_request_context():
        return "en"
    if "language" not in g:
        g.language = _choose()
    return str(g.language)


def _choose() -> str:
    for said in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if said in LANGUAGES:
            return said
    matched = request.accept_languages.best_match([*LANGUAGES, "zh-CN", "zh-TW", "zh-HK"])
    return matched[:2] if matched else "en"


def catalogue() -> Catalogue:
    """Give the texts in the reader's language."""
    return Catalogue.load(chosen_language())
