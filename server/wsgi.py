"""What a WSGI server loads: ``flask --app server/wsgi.py run`` or ``waitress-serve wsgi:app``."""

import os
from pathlib import Path

from shiyi.server.app import create_app
from shiyi.settings import Settings

_TOML = Path(os.environ.get("SHIYI_SETTINGS", "shiyi.toml"))
_SETTINGS = Settings.read(
    _TOML.read_text(encoding="utf-8") if _TOML.is_file() else "", dict(os.environ)
)

app = create_app(_SETTINGS.kb, _SETTINGS)
