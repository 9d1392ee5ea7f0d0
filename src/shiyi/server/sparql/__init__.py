"""The SPARQL endpoint."""
