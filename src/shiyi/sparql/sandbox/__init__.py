"""Queries and updates of others, in confined worker processes."""
