"""The advisor's tools, as one tuple of objects that every face shares."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, ToolResult, figure_out

__all__ = ["Arguments", "Report", "Tool", "ToolResult", "build_toolbox", "figure_out"]

_MODULES: tuple[str, ...] = ()


@lru_cache(maxsize=8)
def build_toolbox(settings: Settings) -> tuple[Tool[Any], ...]:
    """All tools under these settings; each module of this folder makes one."""
    tools: list[Tool[Any]] = []
    for name in _MODULES:
        tools.append(importlib.import_module(f"agent.toolbox.{name}").build(settings))
    return tuple(tools)
