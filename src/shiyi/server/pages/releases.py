"""Published releases."""

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Response, redirect, render_template, send_file
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response as BaseResponse

from shiyi.model.rdf import NamedNode, Triple, parse_turtle
from shiyi.publishing.editions import BEGUN, RECORD, list_editions
from shiyi.publishing.files import SUMS
from shiyi.publishing.metadata import TITLE
from shiyi.publishing.void import CREATOR, KEYWORDS, LICENCE, SUMMARY
from shiyi.server.http.headers import public_root
from shiyi.server.http.messages import HTML, RDF_TYPES, json_response, prefer, rdf_response
from shiyi.server.site.site import Site

PREFIX: Final = "release-"  # of the names of releases under ``/id/``
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Release:
    """A published release and its record."""

    folder: Path
    record: Mapping[str, Any]

    @property
    def version(self) -> str:
        """Return the version, which is the folder's name."""
        return self.folder.name

    def linked_data(self) -> dict[str, Any]:
        """Describe it as search engines read it: a schema.org data set."""
        record = self.record
        return {
            "@context": "https://schema.org",
            "@type": "Dataset",
            "@id": record["iri"],
            "name": TITLE,
            "description": SUMMARY,
            "version": self.version,
            "license": LICENCE,
            "datePublished": record["issued"],
            "identifier": record["canonical"]["hash"],
            "creator": {"@type": "Organization", "name": CREATOR},
            "inLanguage": ["zh", "en"],
            "isAccessibleForFree": True,
            "distribution": [
                {
                    "@type": "DataDownload",
                    "contentUrl": f"/releases/{self.version}/{name}",
                    "encodingFormat": item["media_type"],
                    "sha256": item["sha256"],
                }
                for name, item in record["files"].items()
                if item["packed"]
            ],
        }


def catalogue(releases: Sequence[Release]) -> dict[str, Any]:
    """Describe the releases as search engines read them: a schema.org data catalogue."""
    return {
        "@context": "https://schema.org",
        "@type": "DataCatalog",
        "@id": f"{public_root()}releases/",
        "name": TITLE,
        "description": SUMMARY,
        "url": f"{public_root()}releases/",
        "keywords": list(KEYWORDS),
        "license": LICENCE,
        "provider": {"@type": "Organization", "name": CREATOR},
        "dataset": [release.linked_data() for release in releases],
    }


def folder_of(site: Site) -> Path:
    """Return the folder of the releases that the site serves."""
    named = site.settings.server.releases
    return Path(named) if named else site.settings.kb / "releases"


def list_releases(site: Site) -> list[Release]:
    """List the whole releases, the newest version first."""
    return [Release(path, _record(path / RECORD)) for path in list_editions(folder_of(site))]


def find(site: Site, version: str) -> Release:
    """Return one release; 404 where there is none of that version."""
    release = next((each for each in list_releases(site) if each.version == version), None)
    if release is None:
        raise NotFound(f"there is no release {version[:40]}; /releases/ lists all")
    return release


def releases(site: Site) -> Blueprint:
    """Serve the list, one release, and its files with ranges, checksums and conditions."""
    routes = Blueprint("releases", __name__)

    @routes.get("/releases/")
    def list_all() -> BaseResponse:
        found = list_releases(site)
        if prefer([HTML, _JSON]) == _JSON:
            return _vary(json_response({"releases": [_release_values(each) for each in found]}))
        begun = not found and any(folder_of(site).glob(f"{BEGUN}*"))
        page = render_template(
            "releases.html", releases=found, begun=begun, catalogue=catalogue(found)
        )
        return _vary(Response(page))

    @routes.get("/releases/latest")
    @routes.get("/releases/latest/")
    @routes.get("/releases/latest/<path:name>")
    def latest(name: str = "") -> BaseResponse:
        found = list_releases(site)
        if not found:
            raise NotFound("nothing was released yet; `shiyi release VERSION` does it")
        return redirect(f"/releases/{found[0].version}/{name}", code=302)

    @routes.get("/releases/<version>/")
    def one(version: str) -> BaseResponse:
        return _release_page(site, version)

    @routes.get("/releases/<version>/<path:name>")
    def file(version: str, name: str) -> BaseResponse:
        return _file(site, version, name)

    return routes


def _release_page(site: Site, version: str) -> BaseResponse:
    release = find(site, version)
    kind = prefer([HTML, _JSON, *RDF_TYPES])
    if kind == HTML:
        response = Response(render_template("release.html", release=release))
    elif kind == _JSON:
        response = json_response(_release_values(release) | {"files": release.record["files"]})
    else:
        response = describe_release(release, RDF_TYPES[kind])
    _signposts(response, release)
    return _vary(response)


def _file(site: Site, version: str, name: str) -> BaseResponse:
    release = find(site, version)
    listed = dict(release.record["files"])
    if name not in listed and name not in (RECORD, SUMS):
        raise NotFound(f"release {version} has no file {name[:80]}")
    path = release.folder / name
    about = listed.get(name, {})
    kind = "application/gzip" if name.endswith(".gz") else about.get("media_type", "")
    text = kind.startswith("text/") or not kind
    response = send_file(
        path.resolve(),
        mimetype=kind or ("application/json" if name == RECORD else "text/plain"),
        conditional=True,
        etag=about.get("sha256", True),
        download_name=path.name,
    )
    if text:
        response.headers["Content-Type"] = f"{response.mimetype}; charset=utf-8"
    response.headers["Cache-Control"] = "public, max-age=86400"
    if "sha256" in about:
        digest = bytes.fromhex(about["sha256"])
        response.headers["Repr-Digest"] = f"sha-256=:{b64encode(digest).decode()}:"
    response.headers["Link"] = (
        f'<{release.record["iri"]}>; rel="collection", <{LICENCE}>; rel="license"'
    )
    return response


def describe_release(release: Release, extension: str) -> Response:
    """Answer with the VoID and DCAT description of a release."""
    return rdf_response(_description(release.folder / "void.ttl"), extension)


def name_of(release: Release) -> NamedNode:
    """Return the IRI of a release."""
    return NamedNode(str(release.record["iri"]))


def _signposts(response: BaseResponse, release: Release) -> None:
    here = f"/releases/{release.version}/"
    links = [
        f'<{release.record["iri"]}>; rel="cite-as"',
        f'<{LICENCE}>; rel="license"',
        '<https://schema.org/Dataset>; rel="type"',
        f'<{here}void.ttl>; rel="describedby"; type="text/turtle"',
        f'<{here}datacite.json>; rel="describedby"; type="application/json"',
        f'<{here}ro-crate-metadata.json>; rel="describedby"; type="application/ld+json"',
    ]
    links += [
        f'<{here}{name}>; rel="item"; type="application/gzip"'
        for name, item in release.record["files"].items()
        if item["packed"]
    ]
    response.headers["Link"] = ", ".join(links)


def _release_values(release: Release) -> dict[str, Any]:
    keys = ("version", "issued", "iri", "release", "canonical", "previous", "counts", "changes")
    return {key: release.record[key] for key in keys} | {"url": f"/releases/{release.version}/"}


def _vary(response: BaseResponse) -> BaseResponse:
    response.headers["Vary"] = "Accept"
    return response


@lru_cache(maxsize=64)
def _record(path: Path) -> Mapping[str, Any]:
    """Read a record once: a release is never changed."""
    results: Mapping[str, Any] = json.loads(path.read_bytes())
    return results


@lru_cache(maxsize=8)
def _description(path: Path) -> tuple[Triple, ...]:
    return tuple(quad.triple for quad in parse_turtle(path.read_text(encoding="utf-8")))
