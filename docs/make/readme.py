"""The description of the distribution on an index: README.md, with links that lead there from anywhere.

Hatchling runs it as a metadata hook at each build.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

HOME = "https://w3id.org/shiyi/"


class Readme(MetadataHookInterface):
    """Sets ``readme``, which pyproject.toml names as dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:  # type: ignore[explicit-override]
        """Set the text; links to pages of the documentation are absolute, others are words."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = re.sub(r"\]\((docs/[^)]+)\)", rf"]({HOME}\1)", text)
        text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
