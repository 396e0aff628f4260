"""Deterministic arithmetic and data: models, GPUs, memory, speed, catalog, local probe.

Imports nothing of the other packages. The public names of each room are exported by the room
(`tools.memory`, `tools.models`, `tools.gpus`, `tools.catalog`, `tools.speed`, `tools.placement`,
`tools.probe`); nothing is loaded before it is asked for.
"""
