"""What a diffusion pipeline holds beside its denoiser: text encoders and the image autoencoder."""

from __future__ import annotations

from typing import Any, NamedTuple

from tools.memory.other.forms import form_of, table
from tools.models import ModelSpec, get_model

VAE = "stabilityai/sd-vae-ft-mse (vae)"
_TILE_PX = 512
_CLIP_VALUES = 3 * 4
"""Values a pixel of a latent frame: three colours of the four frames that it unfolds to."""


class Companions(NamedTuple):
    """Parameters of what runs beside the denoiser."""

    text_encoders: int
    vae: int
    vae_in_fp32: bool
    """SDXL's autoencoder overflows in fp16 and is raised to fp32."""
    guidance: int
    """Samples a pass: 2 where both halves of classifier-free guidance run as one batch, 1 where
    they run one after the other or guidance is an input."""
    decoder: str
    """Model under whose name the decoding of latents was simulated."""
    tile_px: int
    """Side of a tile (the root of its area) when latents are decoded in tiles."""
    is_tiled: bool
    """The pipeline's own examples decode in tiles."""
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
        decoder=str(row.get("decoder", VAE)),
        tile_px=int(row.get("tile_px", _TILE_PX)),
        is_tiled=bool(row.get("tiled")),
        origin=str(row["source"]),
    )


def decode_bytes(
    rest: Companions, pixels: float, frames: float, batch: int, *, width: int, tiled: bool
) -> float:
    """Working memory of decoding latents to images or clips.

    Args:
        rest: What runs beside the denoiser.
        pixels: Height x width of an image or a frame.
        frames: Latent frames of a clip; 1 for an image.
        batch: Images or clips decoded together.
        width: Bytes of a value.
        tiled: Decode tile by tile.
    """
    whole = pixels
    if tiled:
        pixels, batch = min(pixels, float(rest.tile_px**2)), 1
    mode = "fp32" if width == 4 else "pure-bf16"
    spec = get_model(rest.decoder)
    if rest.decoder == VAE:
        form = form_of(spec, f"infer:{mode}")
        return max(m.activations for m in form.moments(batch, {"px2": pixels}))
    form = form_of(spec, f"decode:{mode}")
    sizes = {"area": pixels, "px2": pixels * frames}
    clip = _CLIP_VALUES * width * (whole - pixels) * frames  # tiles are joined to the whole clip
    return clip + max(m.activations for m in form.moments(batch, sizes))
