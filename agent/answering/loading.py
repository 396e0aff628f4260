"""io_bottleneck: does loading starve the GPU, and what to do."""

from __future__ import annotations

from agent.answering.draft import DETAIL, HEAD, Draft
from agent.answering.phrases import sentences
from agent.answering.plan import Call, Context, Plan
from agent.answering.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.loading import LoadingOut
from tools.units import format_significant

_STEPS = ("workers", "storage", "pack", "decode", "check")


def compose(request: Request, context: Context) -> Plan:
    """The usual cause, the computed bottleneck, and the order of steps."""
    draft = Draft(request)
    slots = request.slots
    arguments = {
        "images_per_s_per_gpu": slots.gpu_img_s,
        "gpu": slots.gpu if slots.gpu != "none" else None,
        "gpus": slots.gpu_count or 1,
        "vcpu": slots.vcpu,
        "num_workers": slots.num_workers,
        "image_kb": slots.img_kb,
        "storage": slots.storage,
        "storage_mb_s": slots.throughput_mb_s,
    }
    said = {name: value for name, value in arguments.items() if value is not None}
    results = yield (Call("check_data_loading", said), guidance_call(request, k=2, topic="loading"))
    draft.use(*results)
    draft.say("loading.head", importance=HEAD)
    report = results[0].report
    if isinstance(report, LoadingOut) and slots.img_kb is not None and slots.gpu_img_s is not None:
        _say_throughput(draft, report.needed_per_s, slots.img_kb)
    if isinstance(report, LoadingOut) and len(report.stages) > 1:
        _tell(draft, report)
    draft.bullets([draft.phrase(f"loading.step_{s}") for s in _STEPS],
                  title=draft.phrase("loading.steps_title"))  # fmt: skip
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable")


def _say_throughput(draft: Draft, images_per_s: float, image_kb: float) -> None:
    """What the storage has to deliver: images a second times their size."""
    need_mb_s = images_per_s * image_kb / 1000
    draft.figure("throughput", round(need_mb_s, 2), "MB/s", formula="images/s * KB / 1000")
    draft.say("loading.throughput", need=format_significant(need_mb_s, 3),
              rate=format_significant(images_per_s, 3), size=f"{image_kb:g}",
              importance=HEAD)  # fmt: skip


def _tell(draft: Draft, report: LoadingOut) -> None:
    """The slowest stage; nothing where that is the GPU by what was assumed alone."""
    if report.bottleneck == "gpu":
        return
    draft.figure("busy", report.gpu_utilisation, "1", formula="slowest stage / need")
    draft.assume(report.assumptions)
    draft.say(
        "loading.computed",
        needed=format_significant(report.needed_per_s, 3),
        stage=draft.phrase(f"loading.stage_{report.bottleneck}"),
        rate=format_significant(report.delivered_per_s, 3),
        busy=f"{report.gpu_utilisation * 100:.0f}%",
    )
    known = sentences("loading")
    items = [
        draft.phrase(f"loading.assume_{a.name}", value=f"{float(a.value):g}")
        for a in report.assumptions
        if f"assume_{a.name}" in known
    ]
    if items:
        separator = "; " if draft.language == "en" else "；"
        draft.say("loading.assumed", items=separator.join(items), importance=DETAIL)
