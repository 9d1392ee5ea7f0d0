"""Described outside sources."""
