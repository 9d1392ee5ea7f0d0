"""Ask a Shiyi server: ``Shiyi("http://127.0.0.1:8000").ask("枸杞子和华法林可以一起吃吗？")``."""

from shiyi_client.client import Shiyi
from shiyi_client.errors import (
    BusyError,
    GoneError,
    NotFoundError,
    QueryError,
    RefusedError,
    ServerError,
    ShiyiClientError,
    UnreachableError,
)
from shiyi_client.values import Answer, Caution, Citation, Claim, Concept, Mention, Release, Row

__all__ = [
    "Answer",
    "BusyError",
    "Caution",
    "Citation",
    "Claim",
    "Concept",
    "GoneError",
    "Mention",
    "NotFoundError",
    "QueryError",
    "RefusedError",
    "Release",
    "Row",
    "ServerError",
    "Shiyi",
    "ShiyiClientError",
    "UnreachableError",
]  # fmt: skip
