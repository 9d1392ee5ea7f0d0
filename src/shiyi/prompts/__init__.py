"""Prompts as files, and language models behind a port."""
