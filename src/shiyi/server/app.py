"""The web application around one knowledge base, and the server that runs it."""

import logging
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from flask import Flask, request
from typing_extensions import override
from werkzeug.middleware.proxy_fix import ProxyFix

from shiyi.artefacts import artefact
from shiyi.errors import SettingError
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.server import guard, marks, problems
from shiyi.server.api import api
from shiyi.server.concept_view import heading
from shiyi.server.crawling import crawling
from shiyi.server.curating import DESKS, curating
from shiyi.server.curating.session import guard_desks
from shiyi.server.exploring import exploring
from shiyi.server.heaps import give_back, settle
from shiyi.server.kept import Kept
from shiyi.server.links import href
from shiyi.server.machine import machine
from shiyi.server.metrics import Metrics
from shiyi.server.opening import open_site
from shiyi.server.pages import pages
from shiyi.server.patience import Doorkeeper, places
from shiyi.server.phrases import Phrases
from shiyi.server.reading import Thing
from shiyi.server.reference import reference
from shiyi.server.releases import releases
from shiyi.server.resources import resources
from shiyi.server.restricted import for_readers, known_to
from shiyi.server.sending import Channel
from shiyi.server.site import Site
from shiyi.server.sparql_protocol import sparql_protocol
from shiyi.server.static import address, static
from shiyi.server.warming import warm
from shiyi.server.wording import catalogue, chosen_language, localise
from shiyi.settings import Settings

_LOG: Final = logging.getLogger("shiyi")
_SWITCH: Final = 0.002  # seconds a thread keeps the others waiting: 5 ms show at the slow end, less costs many clients
DEFAULT_QUERY: Final = """PREFIX shiyi: <https://w3id.org/shiyi/vocab#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

SELECT ?food ?name ?confidence ?claim WHERE {
  ?claim rdf:reifies <<( ?food shiyi:hasNature ?nature )>> ;
         shiyi:status shiyi:accepted ; shiyi:confidence ?confidence .
  ?food skos:prefLabel ?name .
  FILTER(lang(?name) = "en")
}
ORDER BY DESC(?confidence) LIMIT 50
"""


class _Views(Flask):
    @override
    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func  # none of ours is async, and to look at each takes a twentieth of a request


def create_app(site: Site | Path, settings: Settings | None = None) -> Flask:
    """Build the web application around an open site, or the knowledge base at a path.

    Raises KnowledgeBaseError where the path holds none that is whole.
    """
    if isinstance(site, Path):
        site = open_site(site, settings or Settings())
    app = _Views(
        "shiyi",
        template_folder=str(artefact("server/templates")),
        static_folder=None,
    )
    app.config["MAX_CONTENT_LENGTH"] = site.settings.server.max_body_bytes
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.extensions["shiyi"] = site
    localise(app)
    marks.register(app)
    readers = for_readers(site)
    metrics, limits = Metrics(), site.settings.server
    kept = Kept(readers, known_to(readers))
    problems.register(app)
    guard.register(app, metrics, readers.version, limits)
    if limits.proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=limits.proxies, x_proto=limits.proxies)  # type: ignore[method-assign]
    for routes in (
        pages(readers, kept), resources(readers, kept), api(site, metrics, kept),
        sparql_protocol(site, metrics, kept), machine(readers, metrics, kept), static(), exploring(readers, kept),
        reference(), releases(site), crawling(readers),
    ):  # fmt: skip
        app.register_blueprint(routes)
    if site.curation:
        guard_desks(app, site.curation, site.writing.tokens if site.writing else None)
        for routes in curating(site, Kept(site), site.curation):
            app.register_blueprint(routes)
    _say(app, site, kept)
    return app


def _say(app: Flask, site: Site, kept: Kept) -> None:
    """Give templates the words, numbers and links they need."""

    @app.context_processor
    def words() -> dict[str, Any]:
        texts = catalogue()
        return {
            "t": texts, "language": chosen_language(), "other_language": _other_language(),
            "p": Phrases(texts), "site": site, "nonce": guard.nonce, "href": href,
            "asset": address, "desks": DESKS, "class_name": _class_name(kept), "default_query": DEFAULT_QUERY,
            "constitutions": lambda: _constitutions(kept),
            "example_texts": lambda found: {each.name: each.text for each in found},
            "prefixes": PREFIXES,
        }  # fmt: skip


def _class_name(kept: Kept) -> Callable[[str], str]:
    reader = kept.reader(chosen_language())
    return lambda name: heading(reader, name)


def _constitutions(kept: Kept) -> list[Thing]:
    reader = kept.reader(chosen_language())
    found = reader.store.match(None, RDF.type, SHIYI.Constitution, DefaultGraph())
    return sorted((reader.thing(quad.subject) for quad in found), key=lambda each: each.iri)


def _other_language() -> str:
    """Give this page's address in the other language."""
    pairs = [(key, value) for key, value in request.args.items(multi=True) if key != "lang"]
    pairs.append(("lang", "en" if chosen_language() == "zh" else "zh"))
    path = request.path if request.method in {"GET", "HEAD"} and request.endpoint else "/"
    # two slashes in front would name another host
    return "/" + quote(path.lstrip("/")) + "?" + urlencode(pairs)


def serve(app: Flask, host: str, port: int, threads: int) -> None:
    """Serve until interrupted or told to end, for port 0 at a free one, which the log says.

    SettingError where the address cannot be used.
    """
    from waitress.server import create_server

    site: Site = app.extensions["shiyi"]
    # it warns of every request that waits a moment for a thread
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    sys.setswitchinterval(_SWITCH)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that workers and snapshots go too
    try:
        with _listening(host, port) as listener:
            server = create_server(
                app, sockets=[listener], threads=threads, ident="shiyi",
                connection_limit=places(), asyncore_use_poll=True,  # the rest is shed, not kept waiting
                clear_untrusted_proxy_headers=not site.settings.server.proxies,
            )  # fmt: skip
            server.channel_class = Channel
            Doorkeeper(server)
            guard.admit(app, lambda: len(server.task_dispatcher.queue), Channel.waited)
            shown = f"[{host}]" if ":" in host else host
            _LOG.info(
                "Shiyi serves %s at http://%s:%d", site.release[:19], shown,
                listener.getsockname()[1],
            )  # fmt: skip
            warm(app)
            give_back()
            settle()
            server.run()
    finally:
        site.close()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as fault:  # the latter for a number that is no port
        raise SettingError("server.port", f"cannot listen at {host}:{port} ({fault})") from fault
