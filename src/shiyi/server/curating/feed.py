"""News of the desks as an Atom feed (RFC 4287)."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from flask import Response

from shiyi.curation.ledger import Change
from shiyi.server.wording import catalogue, chosen_language

_ATOM = "http://www.w3.org/2005/Atom"


def feed(changes: Sequence[tuple[Change, str]], root: str) -> Response:
    """Give the newest changes, each with what it is about."""
    t = catalogue()
    whole = Element("feed", xmlns=_ATOM)
    whole.set("xml:lang", "zh-Hans" if chosen_language() == "zh" else "en")
    SubElement(whole, "id").text = f"{root}curate/feed.atom"
    SubElement(whole, "title").text = t("curate.feed")
    SubElement(whole, "updated").text = changes[0][0].when if changes else "1970-01-01T00:00:00Z"
    SubElement(whole, "link", rel="self", href=f"{root}curate/feed.atom")
    for change, title in changes:
        entry = SubElement(whole, "entry")
        SubElement(entry, "id").text = change.iri
        said = t.get(f"change.{change.kind}", change.kind)
        SubElement(entry, "title").text = f"{change.who} · {said} · {title}"
        SubElement(entry, "updated").text = change.when
        SubElement(SubElement(entry, "author"), "name").text = change.who
        SubElement(entry, "link", href=f"{root}curate/change/{change.number}")
        SubElement(entry, "summary").text = change.reason or said
    body = tostring(whole, encoding="utf-8", xml_declaration=True)
    return Response(body, content_type="application/atom+xml; charset=utf-8")
