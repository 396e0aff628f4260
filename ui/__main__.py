"""`python -m ui serve|mcp|...`: the same commands as the `xuanka` console script."""

from __future__ import annotations

import sys

from ui.cli import main

if __name__ == "__main__":
    sys.exit(main())
