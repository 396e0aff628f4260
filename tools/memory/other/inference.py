"""One forward pass, a transcription, or the images of a diffusion pipeline, on one card."""

from __future__ import annotations

from typing import NamedTuple

from tools.memory.other.fill import MEL_TOKENS, Assumed, Filler, Shape, batch_of, shape_of
from tools.memory.other.forms import form_of
from tools.memory.other.pipelines import VAE, Companions, companions, decode_bytes
from tools.memory.tables import find_row
from tools.memory.workload import InferenceWorkload
from tools.models import ModelSpec

_WHISPER_TOKENS = 128
"""Transcript of a 30 s window of speech (at most 448)."""
_BEAMS = 5
"""Default of the whisper and faster-whisper programs; transformers decodes greedily."""
_T5_DECODED = 128
_BFLOAT = ("bf16", "bfloat16")


class Forward(NamedTuple):
    """The bytes of a run at its peak."""

    weights: float
    buffers: float
    text_encoders: float
    vae: float
    cache: float
    activations: float
    moment: str
    origin: str
    rest: Companions | None
    host: float
    assumed: tuple[Assumed, ...]


def forward(workload: InferenceWorkload) -> Forward:
    """The peak of inference.

    Raises:
        UnsupportedError: If the model has no activation form.
        BadQuantityError: If the weight format's name is not known.
    """
    fill = Filler(workload)
    name = str(fill.get("weight_format"))
    bits = float(find_row("formats", name, field="weight_format")["bits"])
    width = 4 if bits >= 32 else 2
    batch, shape = batch_of(fill), shape_of(fill)
    form = form_of(workload.model, "infer:fp32" if width == 4 else "infer:pure-bf16")
    sizes = shape.sizes
    if fill.kind == "whisper" and workload.pipeline is not False:
        sizes = {**sizes, "seq_len": 1.0}  # generation scores one token at a time
    rest = companions(workload.model) if workload.pipeline is not False else None
    passes = batch * (rest.guidance if rest is not None else 1)
    work = max(m.activations for m in form.moments(passes, sizes))
    cache, cross = _cache(workload, fill, batch, width)
    work = max(work - cross, 0.0)  # the simulated forward holds the encoder's keys and values too
    weights = workload.model.params_total * bits / 8
    text, vae, moment, host = 0.0, 0.0, "forward", 0.0
    if fill.kind == "seq2seq":  # whole layers dealt out to the cards, or each layer's matrices
        cards = (workload.pipeline_parallel_size or 1) * (workload.tensor_parallel_size or 1)
        weights, cache = weights / cards, cache / cards
    if rest is not None:
        text = rest.text_encoders * width
        vae, decode = _decoding(workload, rest, shape, batch, name=name, width=width)
        if workload.pipeline_offload is not None:
            return _offloaded(workload, fill, form.origin, rest, weights, text, vae, work, decode)
        if decode > work:
            work, moment = decode, "decode"
    return Forward(
        weights, form.buffers_bytes * (width / 4), text, vae, cache,
        work, moment, form.origin, rest, host, tuple(fill.assumed),
    )  # fmt: skip


def _decoding(
    workload: InferenceWorkload, rest: Companions, shape: Shape, batch: int, *, name: str,
    width: int,
) -> tuple[float, float]:  # fmt: skip
    """Bytes of the autoencoder's weights, and of its work on the latents."""
    is_clip = rest.decoder != VAE
    # an image's fp32 cast is for fp16, whose range SDXL's autoencoder leaves: bf16 is not cast
    raised = rest.vae_in_fp32 and (is_clip or name.casefold() not in _BFLOAT)
    width = 4 if raised else width
    tiled = rest.is_tiled if workload.vae_tiling is None else workload.vae_tiling
    frames = shape.sizes["px2"] / shape.pixels
    images = 1 if workload.vae_slicing else batch
    work = decode_bytes(rest, shape.pixels, frames, images, width=width, tiled=tiled)
    return float(rest.vae * width), work


def _offloaded(
    workload: InferenceWorkload, fill: Filler, origin: str, rest: Companions, weights: float,
    text: float, vae: float, work: float, decode: float,
) -> Forward:  # fmt: skip
    """One part of the pipeline on the card at a time; layer by layer when sequential."""
    host = weights + text + vae
    if workload.pipeline_offload == "sequential":
        weights, text = weights / _layers(workload.model), text / 24
    stages = (
        (weights + work, (weights, 0.0, 0.0, work), "forward"),
        (text, (0.0, text, 0.0, 0.0), "encode"),
        (vae + decode, (0.0, 0.0, vae, decode), "decode"),
    )
    _, (on_card, texts, auto, act), moment = max(stages, key=lambda stage: stage[0])
    return Forward(
        on_card, 0.0, texts, auto, 0.0, act, moment, origin, rest, host, tuple(fill.assumed)
    )  # fmt: skip


def _layers(spec: ModelSpec) -> int:
    return spec.num_hidden_layers or 16


def _cache(
    workload: InferenceWorkload, fill: Filler, batch: int, width: int
) -> tuple[float, float]:
    """Keys and values of an encoder-decoder: all, and those of the encoder's positions."""
    spec = workload.model
    if fill.kind not in ("whisper", "seq2seq") or workload.pipeline is False:
        return 0.0, 0.0
    program = str(workload.engine or "").casefold()
    beams = int(fill.get("beams", _BEAMS if "whisper" in program else 1))
    copies = 1 if "faster" in program else beams  # the others repeat the encoder's for each beam
    layers = spec.num_decoder_layers or spec.num_hidden_layers or 0
    heads = (spec.num_attention_heads or 0) * (spec.head_dim or 64)
    if fill.kind == "whisper":
        own, cross = workload.generated_len or _WHISPER_TOKENS, MEL_TOKENS
    else:
        own, cross = workload.generated_len or _T5_DECODED, int(fill.get("seq_len"))
    per_position = 2.0 * layers * heads * width * batch
    return per_position * (beams * own + copies * cross), per_position * cross
