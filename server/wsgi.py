"""What a WSGI server loads: ``flask --app server/wsgi.py run`` or ``gunicorn -c server/deploy/gunicorn.py``.

``SHIYI_READ_ONLY=1`` opens the base for reading, which any number of processes may do at once; the
one that writes is ``shiyi serve``.
"""

import os
from pathlib import Path

from shiyi.server.app import create_app
from shiyi.server.heaps import settle
from shiyi.server.logs import speak
from shiyi.server.opening import open_site
from shiyi.server.warming import warm, warm_first
from shiyi.settings import Settings

_TOML = Path(os.environ.get("SHIYI_SETTINGS", "shiyi.toml"))
_SETTINGS = Settings.read(
    _TOML.read_text(encoding="utf-8") if _TOML.is_file() else "", dict(os.environ)
)
_READ_ONLY = os.environ.get("SHIYI_READ_ONLY", "") == "1"

speak(_SETTINGS.server.log)
app = create_app(open_site(_SETTINGS.kb, _SETTINGS, _READ_ONLY), _SETTINGS)
if os.environ.get("SHIYI_STOOD_IN_FOR", "") == "1":
    warm_first(app)  # else what is made would keep the first minutes' readers waiting
else:
    warm(app)  # nobody else answers: the first page comes as soon as it can
settle()
