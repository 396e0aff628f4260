"""Which disk a training of images is to read from: the set's size, the need, what delivers it."""

from __future__ import annotations

from agent.answering.telling.draft import HEAD, Draft
from agent.answering.telling.numbers import count
from agent.answering.telling.run_words import joined
from agent.request import Request
from agent.toolbox.loading import LoadingOut
from tools.units import format_significant


def asks_disk(request: Request) -> bool:
    """Whether a training asks what to read its data from, and names no storage."""
    slots = request.slots
    is_open = slots.task == "train" and slots.storage is None
    return is_open and request.says("links.which_disk")


def say_disks(draft: Draft, report: LoadingOut) -> None:
    """The size of the set, the MB/s that the cards ask for, and the storage that delivers them."""
    slots = draft.request.slots
    if slots.samples and slots.img_kb:
        size = slots.samples * slots.img_kb / 1e6
        draft.figure("size of the set", size, "GB", formula="images * kB / 1e6")
        draft.figure("images of the set", slots.samples, "image", sources=("user:samples",))
        draft.say("disk_choice.set", size=format_significant(size, 3),
                  samples=count(slots.samples, draft.language), kb=f"{slots.img_kb:g}",
                  importance=HEAD)  # fmt: skip
    cards = slots.gpu_count or 1
    name = f"{cards}×{report.gpu}" if cards > 1 else report.gpu or "GPU"
    need = report.disk_mb_s
    rate = float(format_significant(report.needed_per_s, 3))
    draft.figure("images a second, as told", rate, "image/s", formula="three digits")
    draft.say("disk_choice.need", cards=name, rate=f"{rate:g}",
              need=format_significant(need, 3), importance=HEAD)  # fmt: skip
    enough = sorted((s for s in report.stores if s.mb_s >= need), key=lambda s: s.mb_s)
    short = [s for s in report.stores if s.mb_s < need]
    told = {
        key: joined(draft, [draft.phrase("disk_choice.one", mb=f"{s.mb_s:,.0f}",
                                         name=draft.phrase(f"loading.name_{s.name}"))
                            for s in stores])
        for key, stores in (("enough", enough), ("short", short))
    }  # fmt: skip
    if not enough:
        draft.say("disk_choice.none", short=told["short"], importance=HEAD)
        return
    draft.say("disk_choice.enough", enough=told["enough"], importance=HEAD)
    if short:
        draft.say("disk_choice.short", short=told["short"])
    draft.say("disk_choice.files")
