"""SPARQL Update and uploads."""
