"""`python -m knowledge build|search|evaluate|...`: the room from a shell."""

from __future__ import annotations

from knowledge.cli import main
from tools.console import run_console

if __name__ == "__main__":
    run_console(main)
