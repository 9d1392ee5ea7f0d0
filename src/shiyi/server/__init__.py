"""The web face: pages, API, SPARQL protocol, one document per resource."""

from shiyi.settings import Settings


def serve(settings: Settings, read_only: bool = False) -> None:
    """Serve the knowledge base at ``settings.kb`` until interrupted.

    Nothing is written over HTTP, so ``read_only`` changes nothing yet. Raises KnowledgeBaseError
    where there is no whole knowledge base, SettingError where the address cannot be used.
    """
    from shiyi.server.app import create_app
    from shiyi.server.app import serve as serve_app

    chosen = settings.server
    app = create_app(settings.kb, settings)
    app.config["READ_ONLY"] = read_only
    serve_app(app, chosen.host, chosen.port, chosen.threads)
