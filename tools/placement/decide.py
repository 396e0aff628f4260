"""CPU instance, slice, GPU, several GPUs or a managed platform: decided by computing."""

from __future__ import annotations

from dataclasses import replace

from tools.catalog import provider_id
from tools.errors import UnsupportedError
from tools.placement.constants import find_work, managed_services
from tools.placement.language import place_serving, place_training
from tools.placement.networks import (
    place_network_training,
    place_training_by_memory,
    training_work,
)
from tools.placement.requests import place_requests
from tools.placement.tables import place_preprocessing, place_table
from tools.placement.task import ManagedService, Placement, Reason, Task

_GENERATIVE = ("decoder-lm", "moe-lm", "vlm", "seq2seq")
_BY_SAMPLE = ("cnn", "vit", "detector", "segmentation", "diffusion-unet", "dit", "speech")
"""Kinds whose training is counted in images or windows of speech, not in tokens."""
_SMALL_PARAMS = 1e9
"""Above this an unnamed model counts as a language model."""


def place(task: Task) -> Placement:
    """Where a job belongs, with the figures that decide it.

    Args:
        task: What is to be done; open fields are assumed and reported.

    Raises:
        UnsupportedError: If nothing says what is to be run.
        BadQuantityError: If the provider or region is not known.

    Source: FLOP and bytes over what a vCPU and a card deliver (data/profiles.json, tools.speed),
    memory by tools.memory, prices by tools.catalog.
    """
    found = _computed(task)
    services = _services(task)
    return replace(found, managed=services)


def _computed(task: Task) -> Placement:
    if task.action == "notebook":
        return Placement("managed", (Reason("interactive"),), None, None, ())
    if task.action == "preprocess":
        return place_preprocessing(task)
    work = find_work(task.work)
    if work is not None and task.model is None:
        if work.kind == "preprocess":
            return place_preprocessing(task)
        if work.kind in ("trees", "classic"):
            return place_table(task, work)
        if task.action == "train":
            return place_network_training(task, work)
    model = task.model
    if model is not None and model.kind in _BY_SAMPLE and task.action == "train":
        try:
            return place_network_training(task, training_work(model, work))
        except UnsupportedError:
            return place_training_by_memory(task)
    is_large = (task.params or 0) >= _SMALL_PARAMS
    if model is None and task.params and (is_large or task.action == "train"):
        from tools.models import reference_model

        model = reference_model(task.params / 1e9)
    if model is not None and (task.action == "train" or model.kind in _GENERATIVE):
        place_it = place_training if task.action == "train" else place_serving
        return place_it(task, model)
    if task.action == "infer":
        return place_requests(task)
    raise UnsupportedError(
        "placement of a training job",
        reason="neither a model, a size nor a known library is named",
        instead="Name the model or its size, for example 7B, or the library, for example XGBoost.",
    )


def _services(task: Task) -> tuple[ManagedService, ...]:
    """Managed platforms for the same job: of the provider asked for, else Alibaba Cloud's."""
    provider = provider_id(task.provider) if task.provider else "alibaba"
    use = "train" if task.action == "preprocess" else task.action
    own = [s for s in managed_services() if s.provider == provider]
    fitting = [s for s in own if s.use == use]
    return tuple(fitting or own)
