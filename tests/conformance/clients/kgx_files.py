"""Validate a folder of KGX by kgx itself, in an environment of its own; its pins exclude LinkML's.

It fetches Biolink and its context when it starts: here both are of the package ``biolink_model``, and
the prefix of Shiyi's identifiers, which no registry has, is added to the context.
"""

import json
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main() -> None:
    """Print what kgx finds in the files of the folder named by the first argument."""
    requests: Any = import_module("requests")
    requests.get = lambda *_, **__: SimpleNamespace(text="predicate mappings: []")
    model = Path(import_module("biolink_model").__path__[0]) / "schema/biolink_model.yaml"
    import_module("bmt.toolkit").Toolkit.__init__.__defaults__ = (str(model), "")
    prefixes = import_module("yaml").safe_load(model.read_text("utf-8"))["prefixes"]
    context = import_module("kgx.config").jsonld_context_map
    context["biolink"] = prefixes | {"shiyi.id": "https://w3id.org/shiyi/id/"}
    files = [f"{sys.argv[1]}/{name}.tsv" for name in ("nodes", "edges")]
    found = import_module("kgx.cli.cli_utils").validate(files, "tsv", None, None)
    kinds = {
        f"{level} {name}": len(each)
        for level, named in found.items()
        for name, each in named.items()
    }
    print(json.dumps([version("kgx"), kinds]))  # noqa: T201


if __name__ == "__main__":
    main()
