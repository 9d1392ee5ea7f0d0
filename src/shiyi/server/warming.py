"""What the first reader would wait for is made while the server starts."""

import threading
from typing import Final

from flask import Flask
from werkzeug.test import Client

from shiyi.server.site import Site
from shiyi.server.wording import LANGUAGES

# pages that go through the whole base; what they are made from serves the others too
_PAGES: Final = (
    "/statistics?", "/vocab?", "/vocab/reference?", "/constitution?",
    "/browse?class=MFHSubstance&", "/browse?class=MFHSubstance&tier=tier-textbook&",
    "/dishes?constitution=constitution-yin-deficiency&",
)  # fmt: skip
_HTML: Final = {"Accept": "text/html"}


def warm(app: Flask) -> threading.Thread:
    """Load the linker's embedding and make the slow pages in both languages, beside other work."""
    made = threading.Thread(target=_warm, args=(app,), daemon=True)
    made.start()
    return made


def _warm(app: Flask) -> None:
    site: Site = app.extensions["shiyi"]
    site.link("qwxz")
    reader = Client(app)
    for page in _PAGES:
        for language in LANGUAGES:
            reader.get(f"{page}lang={language}", headers=_HTML).close()
