"""Queries as values: named, generated, checked, and their results."""
