"""Overlay graphs of schools after TCM-DiffRAG: chains, reasoning texts, claims, and their map."""
