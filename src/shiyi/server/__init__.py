"""The web face: pages, API, SPARQL protocol, one document per resource."""

import gc

from shiyi.errors import ShiyiError
from shiyi.settings import Settings


def serve(settings: Settings, read_only: bool = False) -> None:
    """Serve the knowledge base at ``settings.kb`` until interrupted.

    Holders of a token may write, unless ``read_only``. Raises KnowledgeBaseError where there is no
    whole knowledge base or another process writes to it, SettingError where the address cannot be
    used.
    """
    from shiyi.server.app import create_app
    from shiyi.server.app import serve as serve_app
    from shiyi.server.logs import speak
    from shiyi.server.opening import open_site
    from shiyi.server.restricted import check_audience

    chosen = settings.server
    speak(chosen.log)
    site = open_site(settings.kb, settings, read_only)
    try:
        check_audience(site.store, chosen)
    except ShiyiError:
        site.close()
        raise
    app = create_app(site, settings)
    gc.freeze()  # millions of facts that stay: looking through them would stop an answer for a second
    serve_app(app, chosen.host, chosen.port, chosen.threads)
