"""Concepts, terms and mappings."""
