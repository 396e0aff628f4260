"""What one card, or several, do of images, videos, texts and speech in a second, as told."""

from __future__ import annotations

from typing import Any

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import duration, whole
from agent.toolbox.items import ItemReport
from agent.toolbox.ranges import Range
from tools.units import format_significant


def item_arguments(draft: Draft, **changes: Any) -> dict[str, Any]:
    """Arguments of item_speed for what was said."""
    slots = draft.request.slots
    said: dict[str, Any] = {
        "model": slots.model, "params_b": slots.params_b, "gpu": slots.gpu,
        "task": "train" if slots.task == "train" else "infer", "gpu_count": slots.gpu_count or 1,
        "precision": slots.precision, "quantization": slots.quantization,
        "framework": slots.framework or slots.library, "batch": slots.batch,
        "image_px": slots.img_size, "tokens": slots.tokens_per_sample or slots.seq_len,
        "frames": slots.frames, "denoising_steps": None if slots.task == "train" else slots.steps,
        **changes,
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}


def _cards(draft: Draft) -> str:
    slots = draft.request.slots
    return f"{slots.gpu_count}×{slots.gpu}" if (slots.gpu_count or 1) > 1 else str(slots.gpu)


def told(rate: Range) -> dict[str, str]:
    """A rate with its interval, in whole numbers."""
    return {
        "rate": whole(rate.value), "low": whole(rate.low), "high": whole(rate.high),
    }  # fmt: skip


def say_rate(draft: Draft, report: ItemReport) -> None:
    """The rate in the unit that its kind is told in."""
    rate, gpu = report.per_s, _cards(draft)
    for name in ("value", "low", "high"):
        draft.figure(f"{report.kind} per s {name}", getattr(rate, name), "1/s",
                     formula="item_speed")  # fmt: skip
        draft.figure(f"{report.kind} per s {name}, as told", float(whole(getattr(rate, name))),
                     "image/s", formula="whole numbers")  # fmt: skip
    for name, value in (("each", 1 / rate.value), ("slow", 1 / rate.low), ("fast", 1 / rate.high)):
        draft.figure(f"seconds {name}", value, "s", formula="1 / rate")
    if report.kind == "image" and draft.request.slots.task == "train":
        draft.say("items.trained", gpu=gpu, **told(rate), importance=HEAD)
    elif report.kind == "image":
        _say_images(draft, report, gpu)
    elif report.kind == "video":
        _say_videos(draft, report, gpu)
    elif report.kind == "text":
        tokens = next((a.value for a in report.assumptions if a.name == "tokens"), None)
        slots = draft.request.slots
        tokens = tokens or slots.tokens_per_sample or slots.seq_len
        draft.figure("tokens_of_a_text", int(tokens or 0), "token", formula="given or assumed")
        draft.say("items.texts", gpu=gpu, tokens=tokens, **told(rate), importance=HEAD)
    else:
        minutes = 60 / rate.value
        draft.figure("minutes_for_an_hour", minutes, "min", formula="60 / rate")
        draft.say("items.speech", gpu=gpu, minutes=format_significant(minutes, 2),
                  rtf=format_significant(1 / rate.value, 2), importance=HEAD, **told(rate)
                  )  # fmt: skip


def _say_images(draft: Draft, report: ItemReport, gpu: str) -> None:
    rate = report.per_s
    steps = ""
    if report.denoising_steps is not None:
        draft.figure("denoising_steps", report.denoising_steps, "1", formula="given or assumed")
        steps = draft.phrase("items.steps", value=report.denoising_steps)
    each = format_significant(1 / rate.value, 2)
    if rate.value >= 1:
        draft.say("items.images", gpu=gpu, each=each, steps=steps, **told(rate), importance=HEAD)
        return
    draft.figure("images_a_minute", rate.value * 60, "1", formula="rate * 60")
    pace = ""
    if report.denoising_steps:
        value = report.denoising_steps * rate.value
        draft.figure("steps_per_s", value, "1/s", formula="denoising steps * rate")
        pace = draft.phrase("items.pace", value=format_significant(value, 2))
    draft.say("items.images_slow", gpu=gpu, each=each, pace=pace,
              fast=format_significant(1 / rate.high, 2),
              slow=format_significant(1 / rate.low, 2), steps=steps,
              minute=format_significant(rate.value * 60, 2), importance=HEAD)  # fmt: skip


def _rate_of_one(report: ItemReport, cards: int) -> float:
    """Videos per second of one card."""
    return report.per_s.value / cards


def _say_videos(draft: Draft, report: ItemReport, gpu: str) -> None:
    """Minutes of one video on one card."""
    cards = draft.request.slots.gpu_count or 1
    minutes = {}
    for name, rate in (("each", report.per_s.value), ("fast", report.per_s.high),
                       ("slow", report.per_s.low)):  # fmt: skip
        draft.figure(f"minutes {name}", cards / rate / 60, "min", formula="cards / rate / 60")
        minutes[name] = duration(cards / rate / 3600, draft.language)
    draft.figure("denoising_steps", report.denoising_steps or 0, "1", formula="given or assumed")
    draft.figure("frames", report.frames or 0, "1", formula="given or assumed")
    draft.say("items.videos", gpu=draft.request.slots.gpu, steps=report.denoising_steps,
              size=report.size, frames=report.frames, importance=HEAD, **minutes)  # fmt: skip
    if report.shared_s is not None:
        shared = report.shared_s
        share = 1 / (shared.value * _rate_of_one(report, cards))
        draft.figure("minutes shared", shared.value / 60, "min", formula="item_speed")
        draft.figure("share kept, %", 100 * share / cards, "%", formula="one / (cards * shared)")
        draft.say("items.videos_shared", cards=cards, gpu=draft.request.slots.gpu,
                  each=duration(shared.value / 3600, draft.language),
                  fast=duration(shared.low / 3600, draft.language),
                  slow=duration(shared.high / 3600, draft.language),
                  link="NVLink" if report.link == "nvlink" else "PCIe",
                  kept=whole(100 * share / cards), importance=HEAD)  # fmt: skip
