"""The faces: chat page, HTTP API, MCP server, bots and the `xuanka` console.

They show what `agent` and the public rooms of `tools` give and compute nothing themselves.
"""
