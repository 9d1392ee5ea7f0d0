"""The web face: pages, API, SPARQL protocol, one document per resource."""
