"""``python -m shiyi.cli``."""

import sys

from shiyi.cli import main

sys.exit(main())
