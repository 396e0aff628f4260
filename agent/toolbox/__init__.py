"""The advisor's tools, as one tuple of objects that every face shares."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, ToolResult, figure_out

__all__ = ["Arguments", "Report", "Tool", "ToolResult", "build_toolbox", "figure_out"]

_BUILDERS = (
    "memory:build",
    "limits:build",
    "simulate:build",
    "registries:build_find_model",
    "registries:build_find_gpu",
    "catalog:build",
    "rent:build",
    "billing:build",
    "timing:build",
    "items:build",
    "fleet:build",
    "network:build",
    "loading:build",
    "copying:build",
    "spot:build",
    "placement:build",
    "local:build",
    "guidance:build",
)
"""module:function of each tool."""


@lru_cache(maxsize=8)
def build_toolbox(settings: Settings) -> tuple[Tool[Any], ...]:
    """All tools under these settings, in the order in which they are listed to a model."""
    tools: list[Tool[Any]] = []
    for builder in _BUILDERS:
        module, _, function = builder.partition(":")
        tools.append(
            getattr(importlib.import_module(f"agent.toolbox.{module}"), function)(settings)
        )
    return tuple(tools)
