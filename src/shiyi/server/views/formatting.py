"""Numbers, units, badges, links to tables."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final
from urllib.parse import quote

from babel.dates import format_date, format_datetime
from babel.numbers import format_decimal
from babel.units import format_unit
from flask import Flask
from markupsafe import Markup

from shiyi.server.i18n import Catalogue
from shiyi.server.views.reader import Thing

# a confidence at least this high has this word
_STEPS: Final = (
    (0.9, "very-high"), (0.8, "high"), (0.65, "fair"), (0.45, "low"), (0.0, "very-low"),
)  # fmt: skip
_SIZES: Final = ((10**9, "gigabyte"), (10**6, "megabyte"), (10**3, "kilobyte"), (1, "byte"))


@dataclass(frozen=True, slots=True)
class Phrases:
    """Formats values in one language."""

    words: Catalogue

    def level(self, confidence: float) -> str:
        """Name the step of a confidence, for words and for colours.

        >>> Phrases(Catalogue.load("en")).level(0.87)
        'high'
        """
        return next(name for least, name in _STEPS if confidence >= least)

    def sure(self, confidence: float) -> str:
        """Return a confidence in words."""
        return self.words(f"confidence.{self.level(confidence)}")

    def percent(self, confidence: float) -> str:
        """Write a confidence with two places, as the data hold it."""
        return self.number(confidence, "0.00")

    def number(self, value: float, form: str = "#,##0") -> str:
        """Write a number as the language does; whole unless ``form`` says otherwise.

        >>> Phrases(Catalogue.load("en")).number(21381.4)
        '21,381'
        """
        return _decimal(value, form, self.words.language)

    def took(self, seconds: float) -> str:
        """Return how long something took.

        >>> Phrases(Catalogue.load("en")).took(0.21), Phrases(Catalogue.load("zh")).took(2.5)
        ('210 ms', '2.5秒')
        """
        if seconds >= 120:
            return self._with_unit(seconds / 60, "duration-minute", "0")
        if seconds >= 1:
            return self._with_unit(seconds, "duration-second", "0.0" if seconds < 10 else "0")
        if seconds < 0.001:
            return "< " + self._with_unit(1, "duration-millisecond", "0")
        return self._with_unit(seconds * 1000, "duration-millisecond", "0")

    def size(self, count: int) -> str:
        """Return how large a file is.

        >>> Phrases(Catalogue.load("en")).size(2_340_000), Phrases(Catalogue.load("zh")).size(12)
        ('2.3 MB', '12 B')
        """
        least, name = next((step for step in _SIZES if count >= step[0]), _SIZES[-1])
        return self._with_unit(count / least, f"digital-{name}", "0" if least == 1 else "0.0")

    def moment(self, when: str) -> str:
        """Write a moment, given in ISO 8601, in UTC; scripts write it in the reader's own time.

        >>> Phrases(Catalogue.load("zh")).moment("2026-11-22T08:30:00+00:00")
        '2026年11月22日 08:30 UTC'
        """
        moment = datetime.fromisoformat(when).astimezone(UTC)
        form = "y年M月d日 HH:mm" if self.words.language == "zh" else "d MMM y, HH:mm"
        return format_datetime(moment, form, locale=self.words.language) + " UTC"

    def day(self, when: str) -> str:
        """Write a day, given in ISO 8601.

        >>> Phrases(Catalogue.load("en")).day("2026-11-22")
        'November 22, 2026'
        """
        return format_date(date.fromisoformat(when[:10]), "long", locale=self.words.language)

    def relation(self, key: str, fallback: str = "") -> str:
        """Name a relation as a heading; ``-inverse`` reads it from its object."""
        return self.words.get(f"relation.{key}", fallback or key)

    def tier(self, name: str) -> str:
        """Name a tier of sources."""
        return self.words.get(f"tier.{name}", name)

    def value_name(self, section: str, name: str) -> str:
        """Return the name of a value of a closed list, or the value itself."""
        return self.words.get(f"{section}.{name}", name)

    def _with_unit(self, value: float, unit: str, form: str) -> str:
        return format_unit(value, unit, "short", format=form, locale=self.words.language)


@lru_cache(maxsize=8192)  # a page writes the same few confidences hundreds of times
def _decimal(value: float, form: str, language: str) -> str:
    return format_decimal(value, format=form, locale=language)


_QUERY: Final = """PREFIX id: <https://w3id.org/shiyi/id/>
PREFIX shiyi: <https://w3id.org/shiyi/vocab#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

SELECT ?from ?relation ?to ?confidence
       (GROUP_CONCAT(DISTINCT STRAFTER(STR(?tier), "tier-"); SEPARATOR=", ") AS ?tiers) ?claim
WHERE {
  { <IRI> ?property ?object . BIND(<IRI> AS ?subject)
    ?claim rdf:reifies <<( <IRI> ?property ?object )>> ; shiyi:confidence ?confidence }
  UNION
  { ?subject ?property <IRI> . BIND(<IRI> AS ?object)
    ?claim rdf:reifies <<( ?subject ?property <IRI> )>> ; shiyi:confidence ?confidence }
  # what a source denies is not asserted
  UNION
  { ?claim rdf:subject <IRI> ; rdf:predicate ?property ; rdf:object ?object .
    ?claim shiyi:confidence ?confidence . BIND(<IRI> AS ?subject) }
  UNION
  { ?claim rdf:object <IRI> ; rdf:predicate ?property ; rdf:subject ?subject .
    ?claim shiyi:confidence ?confidence . BIND(<IRI> AS ?object) }
  OPTIONAL { ?claim shiyi:evidence ?evidence . ?evidence shiyi:sourceTier ?tier }
  OPTIONAL { ?property rdfs:label ?name FILTER(LANG(?name) = "LANGUAGE") }
  OPTIONAL { ?subject skos:prefLabel ?one FILTER(LANG(?one) = "LANGUAGE") }
  OPTIONAL { ?object skos:prefLabel ?two FILTER(LANG(?two) = "LANGUAGE") }
  BIND(COALESCE(?one, ?subject) AS ?from)
  BIND(COALESCE(?name, ?property) AS ?relation)
  BIND(COALESCE(?two, ?object) AS ?to)
}
GROUP BY ?from ?relation ?to ?confidence ?claim
ORDER BY ?relation DESC(?confidence)"""
_QUOTED: Final = quote(_QUERY)  # once: most of it has to be escaped


def table_query_address(iri: str, language: str) -> str:
    """Return the address of the query for all claims about ``iri``, with labels in a language.

    >>> table_query_address("https://w3id.org/shiyi/id/a", "zh").startswith(
    ...     "/sparql?query=PREFIX%20id"
    ... )
    True
    """
    query = _QUOTED.replace("LANGUAGE", quote(language)).replace("IRI", quote(iri))
    return f"/sparql?query={query}"


# what is put into these is escaped
_CLASS: Final = Markup(' class="%s"')
_PLAIN: Final = Markup("<span%s>%s</span>")
_LINK: Final = Markup('<a%s href="%s"%s>%s</a>')
_BEYOND: Final = Markup(' rel="noopener nofollow external"')
_DOT: Final = Markup(
    '<span class="dot level-%s" title="%s %s"></span><span class="dot-number">%s</span>'
)


def register(app: Flask) -> None:
    """Register the formats as template filters."""
    app.jinja_env.filters |= {"linked": link_thing, "dot": dot, "as_table": table_query_address}


@lru_cache(maxsize=16_384)  # a nature or a meridian is on most pages
def link_thing(thing: Thing, kind: str = "") -> Markup:
    """Return a thing's label, with its link if it has one; ``kind`` is a CSS class.

    >>> link_thing(Thing("", "a < b"), "chip-main")
    Markup('<span class="chip-main">a &lt; b</span>')
    """
    named = _CLASS % kind if kind else ""
    if not thing.href:
        return _PLAIN % (named, thing.label)
    return _LINK % (named, thing.href, "" if thing.local else _BEYOND, thing.label)


def dot(confidence: float, phrases: Phrases) -> Markup:
    """Return a confidence as a dot and a number."""
    return _dot(confidence, phrases.words.language)


@lru_cache(maxsize=4096)  # a page has the same few confidences hundreds of times
def _dot(confidence: float, language: str) -> Markup:
    phrases = Phrases(Catalogue.load(language))
    number = phrases.percent(confidence)
    return _DOT % (phrases.level(confidence), phrases.words("confidence.label"), number, number)
