"""The WSGI application, for ``flask --app server/wsgi.py run`` or a WSGI server of your own.

``SHIYI_READ_ONLY=1`` opens the base for reading, which any number of processes may do at once.
"""

import os
from pathlib import Path

from shiyi.server.logs import configure_logging

from shiyi.server.app import create_app
from shiyi.server.http.warmup import warm_up
from shiyi.server.site.opening import open_site
from shiyi.settings import Settings

_TOML = Path(os.environ.get("SHIYI_SETTINGS", "shiyi.toml"))
_SETTINGS = Settings.read(
    _TOML.read_text(encoding="utf-8") if _TOML.is_file() else "", dict(os.environ)
)
_READ_ONLY = os.environ.get("SHIYI_READ_ONLY", "") == "1"

configure_logging(_SETTINGS.server.log)
app = create_app(open_site(_SETTINGS.kb, _SETTINGS, _READ_ONLY), _SETTINGS)
warm_up(app)
