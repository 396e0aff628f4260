"""`python -m knowledge build|search|evaluate|...`: the room from a shell."""

from __future__ import annotations

from tools.console import run_console


def main() -> int:
    """Runs one command; what it needs is imported where Ctrl-C and a broken pipe are met."""
    from knowledge.cli import main as run

    return run()


if __name__ == "__main__":
    run_console(main)
