"""Pages, JSON API, SPARQL endpoint and linked data over HTTP."""
