"""What a browser may do with an answer (Content Security Policy Level 3)."""

import secrets
from typing import Final

POLICY: Final = "Content-Security-Policy"


def new_word() -> str:
    """Make the word that the scripts which stand in one page carry."""
    return secrets.token_urlsafe(16)


def policy(word: str) -> str:
    """Let a page load what is ours, and run scripts that carry ``word``; none where there is no word."""
    scripts = f" 'nonce-{word}'" if word else ""
    return (
        f"default-src 'none'; script-src 'self'{scripts}; style-src 'self'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
