"""What a diffusion pipeline holds beside its denoiser: text encoders and the image autoencoder."""

from __future__ import annotations

from typing import Any, NamedTuple

from tools.memory.other.forms import form_of, table
from tools.models import ModelSpec, get_model

VAE = "stabilityai/sd-vae-ft-mse (vae)"
_TILE_PX = 512


class Companions(NamedTuple):
    """Parameters of what runs beside the denoiser."""

    text_encoders: int
    vae: int
    vae_in_fp32: bool
    """SDXL's autoencoder overflows in fp16 and is raised to fp32."""
    guidance: int
    """Passes a step: 2 with classifier-free guidance, 1 where guidance is an input."""
    origin: str


def companions(spec: ModelSpec) -> Companions | None:
    """The rest of the pipeline of a denoiser; None for models that are no denoisers."""
    row: dict[str, Any] | None = table("pipelines").get(spec.name)
    if row is None:
        return None
    return Companions(
        text_encoders=sum(int(e["params"]) for e in row["text_encoders"]),
        vae=int(row["vae_params"]),
        vae_in_fp32=bool(row.get("vae_in_fp32")),
        guidance=int(row.get("guidance", 2)),
        origin=str(row["source"]),
    )


def decode_bytes(pixels: float, batch: int, *, width: int, tiled: bool) -> float:
    """Working memory of decoding latents to images of so many pixels."""
    if tiled:
        pixels, batch = min(pixels, float(_TILE_PX**2)), 1
    form = form_of(get_model(VAE), "infer:fp32" if width == 4 else "infer:pure-bf16")
    return max(m.activations for m in form.moments(batch, {"px2": pixels}))
