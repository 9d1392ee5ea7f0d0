"""Write bench/tables/licences.md: the licences of the pinned dependencies."""

import re
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "bench/tables/licences.md"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)\s*(?:;\s*([^\\]+))?", re.MULTILINE)
_TROVE = "License :: OSI Approved :: "


def licence_of(name: str) -> str:
    """Return the licence that an installed distribution states, its expression first."""
    try:
        text = metadata(name)
    except PackageNotFoundError:
        return "not installed here: for another platform or Python"
    if "License-Expression" in text:
        return text["License-Expression"]
    for item in text.get_all("Classifier") or ():
        if item.startswith(_TROVE):
            return str(item.removeprefix(_TROVE))
    first = str(text["License"] if "License" in text else "").strip().splitlines()  # noqa: SIM401 - no get
    return first[0][:80] if first else "not stated in its metadata"


def main() -> None:
    """Write the page."""
    pins = _PIN.findall((ROOT / "requirements.lock").read_text("utf-8"))
    rows = [f"| {name} | {version} | {licence_of(name)} |" for name, version, _ in pins]
    head = (
        "# Licences of the dependencies\n\n"
        "The packages that `requirements.lock` pins for the base installation, with the licence in "
        "their\nmetadata; written by `make supply`. Extras and development tools are not included.\n\n"
        "| part | version | licence |\n|---|---|---|\n"
    )
    PAGE.write_text(head + "\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
