"""``python -m shiyi``."""

import sys

from shiyi.cli import main

sys.exit(main())
