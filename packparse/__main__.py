"""``python -m packparse`` is ``packcheck``."""

import sys

from packparse.cli import main

if __name__ == "__main__":
    sys.exit(main())
