"""The WSGI application, its log and `serve`."""

import gc
import json
import logging
import re
import signal
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from flask import Flask, request
from typing_extensions import override
from werkzeug.middleware.proxy_fix import ProxyFix

from shiyi.answering.knowledge.overlay import schools
from shiyi.artefacts import artefact
from shiyi.errors import SettingError, ShiyiError
from shiyi.model.rdf import DefaultGraph
from shiyi.ontology.terms import PREFIXES, RDF, SHIYI
from shiyi.server.api.reconciliation import reconciliation, suggestion
from shiyi.server.api.routes import api, machine
from shiyi.server.curating import forms
from shiyi.server.curating.desks import DESKS, desk_routes
from shiyi.server.curating.session import guard_desks
from shiyi.server.http import headers, problems
from shiyi.server.http.headers import address, static
from shiyi.server.http.page_cache import PageCache
from shiyi.server.http.warmup import warm_up
from shiyi.server.i18n import catalogue, choose_language, fault_text, localise
from shiyi.server.pages.audit import audit_pages
from shiyi.server.pages.browse import crawler_routes, pages, reference
from shiyi.server.pages.documentation import documentation
from shiyi.server.pages.explore import check_pages, explore_pages
from shiyi.server.pages.releases import releases
from shiyi.server.pages.resources import resources
from shiyi.server.pages.search import search_routes
from shiyi.server.pages.timeline import timelines
from shiyi.server.site.opening import open_site
from shiyi.server.site.releases import write_first_release
from shiyi.server.site.site import Site
from shiyi.server.site.visibility import check_audience, restrict_site, visible_claims
from shiyi.server.sparql.protocol import sparql_protocol
from shiyi.server.sparql.wsgi import SmallQueries
from shiyi.server.views import formatting
from shiyi.server.views.concept import heading
from shiyi.server.views.formatting import Phrases
from shiyi.server.views.links import href
from shiyi.server.views.reader import Thing
from shiyi.settings import Settings

_LOG: Final = logging.getLogger("shiyi")
_CONNECTIONS: Final = 500  # open at once, most of them idle; descriptors are 1,024 by default
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


def create_app(site: Site | Path, settings: Settings | None = None) -> Flask:
    """Build the web application around an open site, or the knowledge base at a path.

    Raise KnowledgeBaseError where there is no complete one.
    """
    if isinstance(site, Path):
        site = open_site(site, settings or Settings())
    app = Flask("shiyi", template_folder=str(artefact("server/templates")), static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = site.settings.server.max_body_bytes
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.extensions["shiyi"] = site
    localise(app)
    formatting.register(app)
    readers = restrict_site(site)
    limits = site.settings.server
    if limits.url and not urlsplit(limits.url).netloc:
        raise SettingError("server.url", f"{limits.url!r} is no address as https://example.org")
    cache = PageCache(readers, visible_claims(readers))
    problems.register(app)
    headers.register(app, limits)
    app.wsgi_app = SmallQueries(app, site)  # type: ignore[method-assign]
    if limits.proxies:
        proxied = ProxyFix(app.wsgi_app, x_for=limits.proxies, x_proto=limits.proxies)
        app.wsgi_app = proxied  # type: ignore[method-assign]
    for routes in (
        pages(readers, cache),
        resources(readers, cache),
        api(site, cache),
        sparql_protocol(site, cache),
        machine(readers, cache),
        reconciliation(readers, cache),
        suggestion(readers, cache),
        static(),
        explore_pages(readers, cache),
        audit_pages(site),
        check_pages(site, cache),
        search_routes(readers, cache),
        timelines(readers, cache),
        documentation(site),
        reference(),
        releases(site),
        crawler_routes(readers),
    ):
        app.register_blueprint(routes)
    if site.curation:
        forms.register(app)
        guard_desks(app, site.curation, site.writing.tokens if site.writing else None)
        for routes in desk_routes(site, PageCache(site, visible_claims(site)), site.curation):
            app.register_blueprint(routes)
    _add_template_values(app, site, cache)
    return app


def _add_template_values(app: Flask, site: Site, cache: PageCache) -> None:
    """Add the words, numbers and links that templates need."""

    @app.context_processor
    def words() -> dict[str, Any]:
        texts = catalogue()
        return {
            "t": texts,
            "language": choose_language(),
            "other_language": _other_language(),
            "p": Phrases(texts),
            "site": site,
            "nonce": headers.nonce,
            "href": href,
            "asset": address,
            "desks": DESKS,
            "class_name": partial(heading, cache.reader()),
            "fault_text": fault_text,
            "default_query": DEFAULT_QUERY,
            "constitutions": lambda: _constitutions(cache),
            "schools": lambda: sorted(schools(site.store).values()),
            "example_texts": lambda item: {each.name: each.text for each in item},
            "prefixes": PREFIXES,
        }


def _constitutions(cache: PageCache) -> list[Thing]:
    reader = cache.reader()
    quads = reader.store.match(None, RDF.type, SHIYI.Constitution, DefaultGraph())
    return sorted((reader.thing(quad.subject) for quad in quads), key=lambda thing: thing.iri)


def _other_language() -> str:
    """Return this page's address in the other language."""
    pairs = [(key, value) for key, value in request.args.items(multi=True) if key != "lang"]
    pairs.append(("lang", "en" if choose_language() == "zh" else "zh"))
    path = request.path if request.method in {"GET", "HEAD"} and request.endpoint else "/"
    # two slashes in front would name another host
    return "/" + quote(path.lstrip("/")) + "?" + urlencode(pairs)


def run_server(
    app: Flask, host: str, port: int, threads: int, last: Callable[[], None] = lambda: None
) -> None:
    """Serve until interrupted or terminated; for port 0 at a free port, which is logged.

    Then no connection is accepted, requests under way end within 5 seconds, and what is open
    still is closed, so that a proxy asks another server. ``last`` is called in the background when
    the server has warmed up. Raise SettingError where the address cannot be used.
    """
    from waitress.server import create_server

    from shiyi.server.http.channel import Channel

    site: Site = app.extensions["shiyi"]
    # waitress warns of every request that waits for a thread
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    try:
        with _listen(host, port) as listener:

            def stop(*_: object) -> None:
                listener.close()
                sys.exit(0)  # so that workers and snapshots go too

            signal.signal(signal.SIGTERM, stop)
            server = create_server(
                app,
                sockets=[listener],
                threads=threads,
                ident="shiyi",
                connection_limit=_CONNECTIONS,
                asyncore_use_poll=True,  # select() cannot watch descriptors above 1,023
                send_bytes=1,  # threads send what they wrote, each part of a stream at once
                clear_untrusted_proxy_headers=False,  # believed as server.proxies says
            )
            server.channel_class = Channel
            headers.limit_queue(app, lambda: len(server.task_dispatcher.queue))
            shown = f"[{host}]" if ":" in host else host
            _LOG.info(
                "Shiyi serves %s at http://%s:%d",
                site.release[:19],
                shown,
                listener.getsockname()[1],
            )
            warm_up(app, last)
            server.run()
            server.asyncore.close_all(server.active_channels, ignore_all=True)
            server.close()
    finally:
        site.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except (OSError, OverflowError) as fault:  # the latter for a number that is no port
        raise SettingError("server.port", f"cannot listen at {host}:{port} ({fault})") from fault


def serve(settings: Settings, read_only: bool = False, *, first_release: bool = False) -> None:
    """Serve the knowledge base at ``settings.kb`` until interrupted.

    Tokens allow writing, unless ``read_only``. With ``first_release`` a release is written in the
    background where there is none. Raise KnowledgeBaseError where there is no complete
    knowledge base or another process writes to it, SettingError where the address cannot be used.
    """
    chosen_settings = settings.server
    configure_logging(chosen_settings.log)
    site = open_site(settings.kb, settings, read_only)
    try:
        check_audience(site.store, chosen_settings)
    except ShiyiError:
        site.close()
        raise
    app = create_app(site, settings)
    gc.freeze()  # full collections need not look at what stays: they stop all threads
    last = partial(write_first_release, settings) if first_release else lambda: None
    run_server(app, chosen_settings.host, chosen_settings.port, chosen_settings.threads, last)


FORMS: Final = ("text", "json")
# control characters and line separators: none may forge a line
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class _TextFormatter(logging.Formatter):
    """Writes a record as a line of text, its fields as ``name=value``; a traceback below."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        text = f"{record.levelname} {record.name}: {record.getMessage()}{fields}"
        line = f"{_time(record)} {_UNPRINTABLE.sub(lambda mark: ascii(mark[0])[1:-1], text)}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON, with its fields and traceback."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            entry["fault"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False, default=str)


def configure_logging(form: str) -> None:
    """Log to standard error in a form of ``FORMS``."""
    if form not in FORMS:
        raise SettingError("server.log", f"must be one of {', '.join(FORMS)}, not {form[:20]!r}")
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonFormatter() if form == "json" else _TextFormatter())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("shiyi").setLevel(logging.INFO)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN}


def _time(record: logging.LogRecord) -> str:
    return f"{datetime.fromtimestamp(record.created, UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
