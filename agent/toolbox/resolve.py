"""From written names to registry rows: the model, the card, the machine."""

from __future__ import annotations

from typing import NamedTuple

from tools.errors import BadQuantityError, UnknownInstanceError, UserInputError
from tools.gpus import GpuMatch, GpuSpec
from tools.models import ModelSpec


class ResolvedModel(NamedTuple):
    """The model a tool computes with."""

    spec: ModelSpec
    quantization: str | None
    """Weight format that the written name carries."""
    notes: tuple[str, ...]


class ResolvedCard(NamedTuple):
    """The card a tool compares with."""

    spec: GpuSpec
    usable_bytes: int | None
    """Memory that a process can get on what was named: the card, or its slice."""
    slice_memory_gb: float | None
    gpu_count: int | None
    """Cards of the machine, where an instance was named."""
    notes: tuple[str, ...]


def resolve_model(name: str | None, params_b: float | None) -> ResolvedModel:
    """The row of a written name, else the architecture that stands for a nominal size.

    Raises:
        UnknownModelError, AmbiguousModelError: With the closest or possible names.
        BadQuantityError: If neither a name nor a size is given.
    """
    from tools.models import find_model, reference_model

    if name is None:
        if params_b is None:
            raise BadQuantityError(
                field="model", given=None, allowed="a model name, or params_b in billions"
            )
        spec = reference_model(params_b)
        return ResolvedModel(spec, None, ())
    try:
        match = find_model(name)
    except UserInputError:
        if params_b is None:
            raise
        spec = reference_model(params_b)
        note = f"{name} has no row of its own: figures of a {params_b:g}B reference architecture"
        return ResolvedModel(spec, None, (note,))
    return ResolvedModel(match.spec, match.quantization, match.notes)


def resolve_card(
    gpu: str | None,
    *,
    memory_gb: float | None = None,
    instance: str | None = None,
    provider: str | None = None,
) -> ResolvedCard | None:
    """The card of a written name, of an instance type, or of a bare memory size.

    Returns:
        None when nothing names a card.

    Raises:
        UnknownGpuError, AmbiguousGpuError, UnknownInstanceError: With the candidates.
    """
    from tools.gpus import find_gpu

    if gpu is not None and gpu.casefold() != "none":
        text = gpu
        match = find_gpu(text)
        if memory_gb is not None and match.slice_memory_gb is None:
            sized = _with_memory(text, memory_gb)
            match = sized if sized is not None else match
        return ResolvedCard(
            match.spec, match.usable_bytes, match.slice_memory_gb, None, match.notes
        )
    if instance is not None:
        return card_of_instance(instance, provider)
    if memory_gb is not None:
        spec = _class_of(memory_gb)
        return ResolvedCard(spec, spec.usable_bytes, None, None, (spec.notes,))
    return None


def _class_of(memory_gb: float) -> GpuSpec:
    """A card of this memory: a label in whole GB, or the total that a tool shows of one."""
    from agent.toolbox.totals import card_total
    from tools.gpus import memory_class

    shown = None if memory_gb == int(memory_gb) else card_total(memory_gb * 1024)
    if shown is None:
        return memory_class(memory_gb)
    return memory_class(shown.label_gb, total_mib=shown.usable_mib)


def _with_memory(text: str, memory_gb: float) -> GpuMatch | None:
    """The variant of a card with this memory (RTX 4060 Ti, 16), where there is one."""
    from tools.gpus import find_gpu

    try:
        match = find_gpu(f"{text} {memory_gb:g}GB")
    except UserInputError:
        return None
    fits = match.spec.memory_label_gb == memory_gb and match.conflict is None
    return match if fits else None


def card_of_instance(instance: str, provider: str | None) -> ResolvedCard | None:
    """The card that an instance type carries; None for a CPU type.

    Raises:
        UnknownInstanceError: If there is no such type or family; names the nearest.
    """
    from tools.catalog import find_instance, usable_memory
    from tools.gpus import get_gpu, memory_class

    found = find_instance(instance, provider)
    offers = found.offers or tuple(o for f in found.families for o in f.offers)
    if not found.exists and found.kind != "unlisted":
        raise UnknownInstanceError(instance, [o.instance_type for o in found.nearest])
    offer = next((o for o in offers if o.gpu_count), None)
    if offer is None:
        return None
    if offer.gpu_name is not None:
        spec = get_gpu(offer.gpu_name)
    elif offer.card_memory_gb is not None:
        spec = memory_class(offer.card_memory_gb)
    else:
        return None
    usable = usable_memory(offer)
    slice_gb = offer.slice_memory_gb if offer.is_slice else None
    count = offer.gpu_count if found.kind == "type" else None
    return ResolvedCard(spec, usable.bytes if usable is not None else None, slice_gb, count, ())
