"""A tool of ours as LangChain's graph wants it: JSON for the model, the result as artifact."""

from __future__ import annotations

import json
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from agent.toolbox.base import Tool, ToolResult


def as_langchain(tool: Tool[Any]) -> BaseTool:
    """Wraps `tool`; the arguments are validated by the tool itself, so bad ones get its hint."""

    def run(**arguments: Any) -> tuple[str, ToolResult]:
        result = tool.call(arguments)
        return json.dumps(result.to_json(), ensure_ascii=False, default=str), result

    return StructuredTool.from_function(
        func=run,
        name=tool.name,
        description=tool.described(),
        args_schema=tool.input_schema,
        response_format="content_and_artifact",
    )
