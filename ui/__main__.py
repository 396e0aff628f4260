"""`python -m ui serve|mcp|...`: the same commands as the `xuanka` console script."""

from __future__ import annotations

from tools.console import run_console
from ui.cli import main

if __name__ == "__main__":
    run_console(main)
