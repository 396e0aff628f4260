"""What the catalog, the GPU table and the model registry say of a name, as plain values."""

from __future__ import annotations

from typing import Any

from evals.sample import Row
from tools.errors import UserInputError
from tools.units import bytes_from_mib

_INSTANCE = (
    "provider", "category", "gpu_name", "gpu_count", "vcpu_count", "memory_gib", "network_gbps",
    "card_memory_gb", "nvlink", "rdma",
)  # fmt: skip
_GPU = (
    "name", "memory_label_gb", "memory_smi_mib", "mem_bandwidth_gbs", "bf16_dense", "nvlink",
    "bf16_supported", "fp8_supported", "flash_attention2_supported", "compute_capability", "mig",
)  # fmt: skip
_MODEL = (
    "name", "params_total", "params_active", "num_hidden_layers", "num_key_value_heads",
    "num_attention_heads", "hidden_size", "vocab_size",
)  # fmt: skip


def look_up(row: Row) -> dict[str, Any]:
    """Fields of what the row names; `error` where it is not found.

    Args:
        row: A case of the catalog suite.
    """
    try:
        return _READERS[row["what"]](str(row["name"]))
    except UserInputError as error:
        return {"error": str(error)}


def _instance(name: str) -> dict[str, Any]:
    from tools.catalog import get_instance

    return {field: getattr(_one(get_instance, name), field) for field in _INSTANCE}


def _one(get: Any, name: str) -> Any:
    """An instance type; of a name that two clouds use, the cloud whose spelling it is."""
    from tools.errors import AmbiguousInstanceError

    try:
        return get(name)
    except AmbiguousInstanceError:
        return get(name, "aws")


def _unknown(name: str) -> dict[str, Any]:
    from tools.catalog import find_instance

    found = find_instance(name)
    return {"exists": found.exists, "kind": found.kind}


def _gpu(name: str) -> dict[str, Any]:
    from tools.gpus import find_gpu

    spec = find_gpu(name).spec
    usable, total = spec.usable_bytes, spec.memory_smi_mib
    below = None if usable is None or total is None else usable < bytes_from_mib(total)
    return {**{field: getattr(spec, field) for field in _GPU}, "usable_below_smi": below}


def _model(name: str) -> dict[str, Any]:
    from tools.models import find_model

    spec = find_model(name).spec
    return {field: getattr(spec, field) for field in _MODEL}


def _price(name: str) -> dict[str, Any]:
    from tools.catalog import cheapest, get_instance

    price = cheapest(_one(get_instance, name))
    if price is None:
        return {"error": f"no dated price of {name}"}
    return {
        "per_hour": float(price.per_hour),
        "currency": price.currency,
        "priced_on": None if price.priced_on is None else price.priced_on.isoformat(),
    }


def _spot(name: str) -> dict[str, Any]:
    from tools.catalog import get_instance, spot_quote

    quote = spot_quote(_one(get_instance, name))
    if quote is None or quote.on_demand is None:
        return {"error": f"no spot range of {name}"}
    whole = float(quote.on_demand.per_hour)
    return {
        "currency": quote.currency,
        "low_share": float(quote.low) / whole,
        "high_share": float(quote.high) / whole,
    }


_READERS = {
    "instance": _instance,
    "unknown_instance": _unknown,
    "gpu": _gpu,
    "model": _model,
    "price": _price,
    "spot": _spot,
}
