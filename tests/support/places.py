"""Folders that tests read."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DATA: Final = ROOT / "tests" / "data"
# Real data beside a checkout; tests that need it are skipped where it is absent.
SHARED: Final = Path(os.environ.get("SHIYI_SHARED", ROOT.parent / "shared"))
