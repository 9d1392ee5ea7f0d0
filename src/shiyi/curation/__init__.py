"""Curation: experts review, correct and extend the knowledge; every change is attributed."""
