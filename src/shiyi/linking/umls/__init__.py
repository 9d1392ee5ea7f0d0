"""Mention to CUI."""
