"""item_speed: images, seconds of audio or texts a second, for models that write no text."""

from __future__ import annotations

import re
from typing import Any, Literal

from pydantic import Field

from agent.answer import AssumptionOut
from agent.settings import Settings
from agent.toolbox.base import Arguments, Report, Tool, description_of
from agent.toolbox.ranges import Range, assumptions_out, figures_out, range_out
from agent.toolbox.resolve import resolve_model
from tools.errors import UnsupportedError, UserInputError
from tools.models import WRITING_KINDS, try_find_model

Kind = Literal["image", "video", "speech", "text"]
_KINDS: dict[str, Kind] = {
    "cnn": "image", "vit": "image", "detector": "image", "diffusion-unet": "image",
    "speech": "speech", "encoder": "text", "embedding": "text", "reranker": "text",
}  # fmt: skip
_DENOISING = 30
"""Denoising steps of an image where none were said: what pipelines run by default."""


class ItemArguments(Arguments):
    """A vision, diffusion, speech or encoder model on a card."""

    model: str = Field(description="Model in any spelling / 模型名")
    gpu: str = Field(description="Card in any spelling / 显卡")
    task: Literal["train", "infer"] = "infer"
    params_b: float | None = Field(None, gt=0)
    gpu_count: int = Field(1, ge=1)
    precision: str | None = None
    quantization: str | None = None
    framework: str | None = Field(None, description="Program, as written: faster-whisper, TensorRT")
    batch: int | None = Field(None, ge=1)
    image_px: int | None = Field(None, ge=1, description="Pixels per side")
    denoising_steps: int | None = Field(None, ge=1, description="Diffusion: steps of one image")
    frames: int | None = Field(None, ge=1, description="Frames of one video")
    tokens: int | None = Field(None, ge=1, description="Tokens of one text")
    item: Literal["image", "text"] | None = Field(
        None, description="What a model of images and texts (CLIP) is given"
    )


class ItemReport(Report):
    """Throughput of all cards together."""

    kind: Kind
    per_s: Range
    """Images, texts, or seconds of audio per second; for audio 1 is real time."""
    denoising_steps: int | None
    size: str | None = None
    """Of a video: width x height."""
    frames: int | None = None
    shared_s: Range | None = None
    """Seconds of one video that all cards make together."""
    link: str | None = None
    """What those cards exchange tokens over: nvlink or pcie."""
    fits_in_8_bit: bool | None = None
    """Whether the denoiser alone, in 8 bit, fits one card; the other parts wait outside."""
    assumptions: tuple[AssumptionOut, ...]

    def summary(self) -> str:
        """The rate."""
        return f"{self.per_s.value:.3g} {self.kind}/s"


def build(settings: Settings) -> Tool[ItemArguments]:
    """The tool; it depends on no setting."""
    return Tool(
        name="item_speed",
        description=description_of("item_speed"),
        arguments=ItemArguments,
        report=ItemReport,
        function=item_speed,
    )


def item_speed(arguments: ItemArguments) -> ItemReport:
    """Items per second of a model by its kind.

    Raises:
        UserInputError: Unknown names; models that are timed in tokens.
    """
    kind = kind_of(arguments.model)
    tower = _image_tower(arguments.model) if arguments.item == "image" else None
    if kind == "text" and tower is not None:
        return _images(arguments.model_copy(update={"model": tower, "params_b": None}))
    if kind == "speech":
        return _speech(arguments)
    if kind == "text":
        return _texts(arguments)
    if kind == "image":
        return _images(arguments)
    if kind == "video":
        return _videos(arguments)
    raise UnsupportedError(
        arguments.model, reason="the work of one item through it is not known",
        instead="Time some on the card, or ask estimate_time_and_cost for a language model.",
    )  # fmt: skip


def kind_of(name: str) -> Kind | None:
    """What a model's throughput is counted in; None for those that write text."""
    match = try_find_model(name)
    if match is not None and match.spec.kind in _KINDS:
        return _KINDS[match.spec.kind]
    if match is not None and match.spec.kind in WRITING_KINDS:
        return None
    from tools.speed import find_denoiser, image_model

    transformer = find_denoiser(name)
    if transformer is not None and transformer.is_video:
        return "video"
    try:
        image_model(name)
    except UserInputError:
        return None
    return "image"


def _report(
    kind: Kind, found: Any, per_s: Any, *, assumed: tuple[AssumptionOut, ...] = (),
    denoising_steps: int | None = None, **of_video: Any,
) -> ItemReport:  # fmt: skip
    return ItemReport(
        kind=kind, per_s=range_out(per_s), figures=figures_out(found.figures()),
        assumptions=(*assumed, *assumptions_out(found.assumptions)),
        denoising_steps=denoising_steps, **of_video,
    )  # fmt: skip


def _images(arguments: ItemArguments) -> ItemReport:
    from tools.speed import ImageJob, cached_image_speed, image_model

    name = _network(arguments.model)
    params_b = arguments.params_b
    if params_b is None and try_find_model(arguments.model) is not None:
        params_b = resolve_model(arguments.model, None).spec.params_total / 1e9
    net = image_model(name, params_b=params_b)
    usual = max(net.usual_steps, _DENOISING if net.kind == "unet" else 1)
    is_diffusion = usual > 1
    steps = arguments.denoising_steps or usual if is_diffusion else 1
    assumed: tuple[AssumptionOut, ...] = ()
    if is_diffusion and arguments.denoising_steps is None:
        why = "no number of denoising steps was said; pipelines run about this many"
        assumed = (AssumptionOut(name="denoising_steps", value=steps, unit="1", why=why),)
    speed = cached_image_speed(
        ImageJob(
            gpu=arguments.gpu, model=name, params_b=params_b, task=arguments.task,
            precision=arguments.precision, engine=arguments.framework,
            batch=arguments.batch or (1 if is_diffusion and arguments.task == "infer" else None),
            image_px=arguments.image_px, steps=steps, num_gpus=arguments.gpu_count,
        )
    )  # fmt: skip
    return _report("image", speed, speed.samples_per_s, assumed=assumed,
                   denoising_steps=steps if is_diffusion else None)  # fmt: skip


_LINES = (480, 540, 720, 1080)
_SIDE_OF_LINES = 4 / 3
"""Side of the square with as many pixels as a 16:9 picture, over its lines."""


_EIGHT_BIT_SHARE = 0.75
"""Share of a card's memory that 8-bit weights may take beside the activations of a video."""


def _videos(arguments: ItemArguments) -> ItemReport:
    from tools.speed import DenoisingJob, cached_denoising_speed, card, find_denoiser

    net = find_denoiser(arguments.model)
    assert net is not None, "kind_of found it"
    px = arguments.image_px
    lines = next((n for n in _LINES if px and abs(px / _SIDE_OF_LINES - n) <= 1), px)
    speed = cached_denoising_speed(
        DenoisingJob(
            gpu=arguments.gpu, model=arguments.model, steps=arguments.denoising_steps,
            precision=arguments.quantization or arguments.precision, engine=arguments.framework,
            image_px=lines, frames=arguments.frames, num_gpus=arguments.gpu_count,
        )
    )  # fmt: skip
    width, height = net.size(lines)
    room = card(arguments.gpu).memory_bytes
    return _report(
        "video", speed, speed.items_per_s, denoising_steps=speed.steps,
        size=f"{width}x{height}", frames=arguments.frames or net.frames,
        shared_s=range_out(speed.shared_s) if arguments.gpu_count > 1 else None, link=speed.link,
        fits_in_8_bit=None if room is None else net.params < _EIGHT_BIT_SHARE * room,
    )  # fmt: skip


_TOWER = re.compile(r"vit[-_ ]?(?P<size>b|l|h|base|large|huge)[-_/ ]?(?:patch)?(?P<patch>14|16|32)")
_SIZES = {"b": "base", "l": "large", "h": "huge"}


def _image_tower(name: str) -> str | None:
    """The vision transformer inside a model of images and texts.

    >>> _image_tower("openai/clip-vit-large-patch14"), _image_tower("bge-m3")
    ('vit_large_patch14_224', None)
    """
    found = _TOWER.search(name.casefold())
    if found is None:
        return None
    return f"vit_{_SIZES[found['size'][0]]}_patch{found['patch']}_224"


def _network(written: str) -> str:
    """The name that the table of networks knows: as written, else the registry's."""
    from tools.speed import image_model

    match = try_find_model(written)
    names: tuple[str, ...] = (written,) if match is None else (written, match.spec.name)
    for name in names:
        try:
            image_model(name)
        except UserInputError:
            continue
        return name
    return written


def _speech(arguments: ItemArguments) -> ItemReport:
    from tools.speed import SpeechJob, cached_speech_speed

    speed = cached_speech_speed(
        SpeechJob(
            gpu=arguments.gpu, model=arguments.model, engine=arguments.framework,
            weight_format=arguments.quantization or arguments.precision,
            batch=arguments.batch, num_gpus=arguments.gpu_count,
        )
    )  # fmt: skip
    return _report("speech", speed, speed.hours_per_hour)


def _texts(arguments: ItemArguments) -> ItemReport:
    from tools.speed import EncodingJob, cached_encoding_speed

    speed = cached_encoding_speed(
        EncodingJob(
            gpu=arguments.gpu, model=arguments.model, params_b=arguments.params_b,
            tokens=arguments.tokens, batch=arguments.batch, precision=arguments.precision,
            num_gpus=arguments.gpu_count,
        )
    )  # fmt: skip
    return _report("text", speed, speed.texts_per_s)
