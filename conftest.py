"""Which modules are collected for their doctests: those whose libraries are installed."""

from __future__ import annotations

import importlib.util

collect_ignore_glob: list[str] = ["build/*"]
if importlib.util.find_spec("torch") is None:
    collect_ignore_glob.append("tools/memory/simulate/*")
if importlib.util.find_spec("psycopg") is None:
    collect_ignore_glob += ["agent/conversations/postgres.py", "agent/conversations/limits.py"]
