"""What pages write hundreds of times: a thing with its link, and how sure a claim is."""

from functools import lru_cache
from typing import Final

from flask import Flask
from markupsafe import Markup

from shiyi.server.as_table import as_table
from shiyi.server.phrases import Phrases
from shiyi.server.reading import Thing
from shiyi.server.wording import Catalogue

# what is put into these is escaped
_CLASS: Final = Markup(' class="%s"')
_PLAIN: Final = Markup("<span%s>%s</span>")
_LINK: Final = Markup('<a%s href="%s"%s>%s</a>')
_BEYOND: Final = Markup(' rel="noopener nofollow external"')
_DOT: Final = Markup(
    '<span class="dot level-%s" title="%s %s"></span><span class="dot-number">%s</span>'
)


def register(app: Flask) -> None:
    """Let templates write them as filters."""
    app.jinja_env.filters |= {"linked": linked, "dot": dot, "as_table": as_table}


def linked(thing: Thing, kind: str = "") -> Markup:
    """Write a thing's label, and its link where there is one; ``kind`` is a class of the style sheet.

    >>> linked(Thing("", "a < b"), "chip-main")
    Markup('<span class="chip-main">a &lt; b</span>')
    """
    named = _CLASS % kind if kind else ""
    if not thing.href:
        return _PLAIN % (named, thing.label)
    return _LINK % (named, thing.href, "" if thing.local else _BEYOND, thing.label)


def dot(confidence: float, phrases: Phrases) -> Markup:
    """Write how sure something is, as a dot and as a number."""
    return _dot(confidence, phrases.words.language)


@lru_cache(maxsize=4096)  # a page has the same few confidences hundreds of times
def _dot(confidence: float, language: str) -> Markup:
    phrases = Phrases(Catalogue.load(language))
    number = phrases.percent(confidence)
    return _DOT % (phrases.level(confidence), phrases.words("confidence.label"), number, number)
