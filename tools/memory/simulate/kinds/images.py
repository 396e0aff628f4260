"""timm image classifiers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tools.errors import UnsupportedError
from tools.memory.simulate.kinds.common import class_loss, labels, weights_dtype
from tools.memory.simulate.request import SimulationRequest
from tools.memory.simulate.steps import LossOf

_CLASSES = 1000


def import_timm() -> Any:
    """timm, which needs torchvision beside it; neither may bring a torch of its own.

    Raises:
        UnsupportedError: If timm or torchvision is not installed.
    """
    try:
        import timm
    except ImportError as error:
        raise UnsupportedError(
            "simulating an image model",
            reason=f"timm or torchvision is not installed ({error})",
            instead="pip install --no-deps timm==1.0.31 torchvision==0.28.0",
        ) from error
    return timm


def build(request: SimulationRequest) -> nn.Module:
    """The timm model of this name, for images of the request's size."""
    timm = import_timm()
    name = request.model.removeprefix("timm/").partition(".")[0]
    try:
        model = timm.create_model(name, num_classes=_CLASSES, **_size(name, request))
    except RuntimeError as error:
        raise UnsupportedError(f"model {request.model}", reason=str(error)) from error
    built: nn.Module = model.to(weights_dtype(request))
    return built


def _size(name: str, request: SimulationRequest) -> dict[str, Any]:
    has_positions = name.startswith(("vit", "swin", "deit", "eva", "beit"))
    return {"img_size": request.image_px} if has_positions and request.image_px else {}


def feed(request: SimulationRequest) -> LossOf:
    """Images in the weights' dtype, one label each."""
    px = request.image_px or 224
    images = torch.empty((request.batch, 3, px, px), dtype=weights_dtype(request))
    wanted = labels(request)

    def forward(model: nn.Module) -> tuple[torch.Tensor, Any]:
        logits = model(images)
        return class_loss(logits, wanted), logits

    return forward
