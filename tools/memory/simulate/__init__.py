"""A real training or inference step on fake tensors: no GPU, no weights, exact shapes.

Needs the extra `simulate` (torch, transformers, peft). The parent process never imports torch:
`simulate` starts a child, watches its limits and reads the result.
"""

from tools.memory.simulate.ask import request_of, simulate_workload
from tools.memory.simulate.configs import hf_config
from tools.memory.simulate.request import SimulationRequest, request_from_case
from tools.memory.simulate.runner import (
    Limits,
    Simulation,
    SimulationStoppedError,
    is_available,
    remembered,
    simulate,
    versions,
)

__all__ = [
    "Limits",
    "Simulation",
    "SimulationRequest",
    "SimulationStoppedError",
    "hf_config",
    "is_available",
    "remembered",
    "request_from_case",
    "request_of",
    "simulate",
    "simulate_workload",
    "versions",
]
