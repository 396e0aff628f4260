"""`python -m knowledge build|search|evaluate|...`: the room from a shell."""

from __future__ import annotations

import sys

from knowledge.cli import main

if __name__ == "__main__":
    sys.exit(main())
