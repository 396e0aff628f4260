"""io_bottleneck: does loading starve the GPU, by how much, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.answer import CitationOut
from agent.answering.links.disk_choice import asks_disk, say_disks
from agent.answering.links.storage_rate import object_stores, say_object_store, size_kb
from agent.answering.links.token_feed import compose_tokens, is_of_tokens
from agent.answering.plan import Call, Context, Plan
from agent.answering.telling.draft import DETAIL, HEAD, Draft
from agent.answering.telling.numbers import count, duration
from agent.answering.telling.run_words import joined
from agent.answering.telling.sources import guidance_call, passages_in, say_cited
from agent.request import Request
from agent.toolbox.loading import LoadingOut
from agent.toolbox.ranges import Range
from tools.units import format_significant

if TYPE_CHECKING:
    from tools.speed.storage import StorageLimit

_STEPS = ("workers", "storage", "pack", "decode", "check")
_COMMON = ("T4", "A10", "V100", "A100", "H100")
"""Cards told where none is named."""
_OFTEN_TAKEN_FOR = ("fit_check", "recommend_instance", "concept", "catalog_lookup")
_OF_MANY_CARDS = ("fit_check", "multi_gpu_plan", "recommend_instance", "concept", "time_estimate")
_USUAL_KB = 110
"""Mean file of ImageNet, of which the rate of a core is known."""
_LARGE = 4
"""Times that size from which decoding is much slower than that rate."""
_CORE_STAGES = frozenset({"decode", "workers"})
_DISK_STAGES = frozenset({"throughput", "small_files"})
_SHARE_OF_CORE = 0.5
"""Of what a slow core decodes, from which the cores are taken to be what holds a job back."""
_DECODE_SOURCE = CitationOut(
    id="paper:2605.08731",
    title="JPEG decode per core",
    locator="arXiv 2605.08731; tools/speed/data/loading.json, decode_per_core",
)
_DISK_SOURCE = CitationOut(
    id="vendor:alibabacloud.com/help/en/ecs/user-guide/essd-autopl-disks",
    title="ESSD PL1, PL0 to PL3, NAS, CPFS",
    locator="page of 2026-01-08; others by tools/speed/data/storage.json",
)


def applies(request: Request, context: Context) -> bool:
    """True for a training that asks if a named storage keeps up, or which one does."""
    slots = request.slots
    if feeds_told(request) and request.says("links.keeps_up"):
        return request.intent in _OF_MANY_CARDS
    is_open = slots.storage is not None and slots.task == "train" and not slots.has_model
    if is_open and request.intent in _OF_MANY_CARDS and is_of_tokens(request):
        return True  # tokens and a store: no memory can be told of a model that is not named
    is_due = request.intent == "time_estimate" and _with_deadline(request) is not request
    if request.intent not in _OFTEN_TAKEN_FOR and not is_due:
        return False
    if asks_disk(request) and slots.gpus is None:
        return slots.img_kb is not None or (slots.model is not None and _is_image(slots.model))
    if slots.storage is None:
        return False
    if slots.model is None:
        return request.says("links.images") and request.says("links.keeps_up")
    is_training = slots.task == "train" or "task" in request.inferred
    is_asked = is_training and request.says("links.keeps_up")
    return is_asked and _is_image(slots.model)


def feeds_told(request: Request) -> bool:
    """Whether the images a second of a card and the cores that are to feed it are both said."""
    slots = request.slots
    return slots.gpu_img_s is not None and slots.vcpu is not None and slots.task == "train"


def _with_deadline(request: Request) -> Request:
    """The request with the rate at which all files are read within the hours that are said."""
    slots = request.slots
    files = slots.samples or next(iter(request.amounts.get("preprocessing.items", ())), None)
    if files is None or slots.hours is None or slots.gpu_img_s is not None or slots.has_card:
        return request
    rate = files / (slots.hours * 3600)
    changed = slots.model_copy(update={"gpu_img_s": rate, "samples": int(files), "gpu_count": 1})
    return request.model_copy(update={"slots": changed})


def _say_deadline(draft: Draft, report: LoadingOut) -> None:
    """The rate that a deadline asks for, in files and bytes, and the reads under way for it."""
    slots = draft.request.slots
    hours, files, rate = slots.hours or 1.0, slots.samples or 0, report.needed_per_s
    draft.figure("files", files, "1", sources=("user:samples",))
    draft.figure("seconds", hours * 3600, "s", formula="hours * 3600")
    draft.figure("files a second", round(rate, 2), "1/s", formula="files / seconds")
    draft.say("loading.deadline", hours=duration(hours, draft.language),
              amount=count(files, draft.language), rate=_told(rate),
              seconds=f"{hours * 3600:,.0f}", size=f"{report.image_kb:g}",
              mb=_told(report.disk_mb_s), importance=HEAD)  # fmt: skip
    limit = _limit(slots.storage)
    if limit is not None and limit.latency_ms:
        flight = float(_told(rate * limit.latency_ms / 1000))
        draft.figure("reads under way", flight, "1", formula="files a second * latency")
        draft.figure("latency", limit.latency_ms, "ms", sources=("data:speed/storage.json",))
        draft.say("loading.in_flight", latency=f"{limit.latency_ms:g}", flight=f"{flight:g}",
                  importance=HEAD)  # fmt: skip


def _is_image(name: str) -> bool:
    """Whether the table of image networks has the model."""
    from tools.errors import UserInputError
    from tools.speed import image_model

    try:
        image_model(name.removeprefix("timm/"))
    except UserInputError:
        return False
    return True


def compose(request: Request, context: Context) -> Plan:
    """The usual cause, what the cards take of images, bytes and cores, and the order of steps."""
    asked, request = request, _with_deadline(request)
    draft = Draft(request)
    if is_of_tokens(request):
        return (yield from compose_tokens(draft))
    slots = request.slots
    named = slots.gpus or ((slots.gpu,) if slots.has_card else ())
    has_rate = slots.gpu_img_s is not None
    cards: Sequence[str | None] = named or ((None,) if has_rate else _COMMON)
    results = yield (
        *(Call("check_data_loading", _arguments(request, card)) for card in cards),
        guidance_call(request, k=2, topic="loading"),
    )
    draft.use(*results)
    is_check = slots.gpu_util_pct is None and slots.storage is not None
    is_check = is_check and request.says("links.keeps_up")
    is_choice = asks_disk(request)
    seen = _seen_rate(request)
    if slots.num_workers == 0:
        draft.say("loading.no_workers", importance=HEAD)
    if not is_check and not is_choice:
        draft.say("loading.head" if seen is None else "loading.head_rate", importance=HEAD)
    reports = [r.report for r in results if isinstance(r.report, LoadingOut)]
    if reports and request is not asked:
        _say_deadline(draft, reports[0])
    if reports and is_choice:
        say_disks(draft, reports[0])
    elif reports and has_rate and slots.img_kb is not None and request is asked:
        _say_throughput(draft, reports[0], slots.img_kb)
    if reports and (named or has_rate) and len(reports[0].stages) > 1:
        _tell_slowest(draft, reports[0])
        if is_check:
            short = reports[0].stages.get("throughput", 0) < reports[0].needed_per_s
            draft.lead("loading.check_short" if short else "loading.check_enough")
            _say_capacity(draft, reports[0])
    if reports and request.says("links.object_store"):
        one = reports[len(reports) // 2]
        draft.say("loading.object_for", card=one.gpu or "GPU", rate=_told(one.needed_per_s),
                  importance=HEAD)  # fmt: skip
        say_object_store(draft, one.needed_per_s)
    if reports:
        _tell_need(draft, reports, is_computed=not has_rate)
        if seen is not None:
            _tell_seen_rate(draft, reports[0], seen)
        _tell_seen(draft, reports, is_named=bool(named) or has_rate)
        _tell_limits(draft, reports[0])
    draft.bullets([draft.phrase(f"loading.step_{s}") for s in _STEPS],
                  title=draft.phrase("loading.steps_title"))  # fmt: skip
    say_cited(draft, passages_in(results)[:2])
    return draft.finish("not_applicable", intent="io_bottleneck")


def _limit(name: str | None) -> StorageLimit | None:
    """A disk or file system of the table; object stores are told apart."""
    from tools.errors import UserInputError
    from tools.speed import storage_limit

    if name is None or name in object_stores():
        return None
    try:
        return storage_limit(name)
    except UserInputError:
        return None


def _size_kb(request: Request) -> float | None:
    """Kilobytes of a file, where its size stands beside the images."""
    return size_kb(request) if request.says("links.images") else request.slots.img_kb


def _arguments(request: Request, card: str | None) -> dict[str, object]:
    slots = request.slots
    arguments = {
        "images_per_s_per_gpu": slots.gpu_img_s,
        "model": slots.model,
        "gpu": card,
        "gpus": slots.gpu_count or 1,
        "vcpu": slots.vcpu,
        "num_workers": None if slots.num_workers is None else max(slots.num_workers, 1),
        "image_kb": _size_kb(request),
        "storage": slots.storage if _limit(slots.storage) else None,
        "storage_mb_s": slots.throughput_mb_s,
        "provider": slots.provider,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _say_throughput(draft: Draft, report: LoadingOut, image_kb: float) -> None:
    """What the storage has to deliver: images a second times their size."""
    need_mb_s = report.needed_per_s * image_kb / 1000
    draft.figure("throughput", round(need_mb_s, 2), "MB/s", formula="images/s * KB / 1000")
    draft.say("loading.throughput", need=format_significant(need_mb_s, 3),
              rate=format_significant(report.needed_per_s, 3), size=f"{image_kb:g}",
              importance=HEAD)  # fmt: skip


def _tell_slowest(draft: Draft, report: LoadingOut) -> None:
    """The slowest stage of a machine whose cores or storage are known."""
    draft.figure("busy", report.gpu_utilisation, "1", formula="slowest stage / need")
    if report.bottleneck == "gpu":
        named = [
            draft.phrase(f"loading.named_{kind}")
            for kind, stages in (("cores", _CORE_STAGES), ("storage", _DISK_STAGES))
            if stages & set(report.stages)
        ]
        draft.say("loading.enough", needed=_told(report.needed_per_s), what=joined(draft, named),
                  importance=HEAD)  # fmt: skip
        return
    draft.say(
        "loading.computed",
        needed=_told(report.needed_per_s),
        stage=draft.phrase(f"loading.stage_{report.bottleneck}"),
        rate=_told(report.delivered_per_s),
        busy=f"{report.gpu_utilisation * 100:.0f}%",
        importance=HEAD,
    )


def _say_capacity(draft: Draft, report: LoadingOut) -> None:
    """The capacity to buy, of a storage whose throughput grows with it."""
    if not report.capacity_gib:
        return
    tib = float(format_significant(report.capacity_gib / 1024, 2))
    draft.figure("capacity for the throughput", tib, "TiB", formula="MB/s / MB/s of a TiB")
    draft.say("loading.capacity", size=f"{tib:g} TiB", mb=_told(report.disk_mb_s))


def _told(value: float) -> str:
    return format_significant(value, 3)


def _span(value: Range, *, digits: int = 2) -> str:
    """A range as `low-high`."""
    return f"{format_significant(value.low, digits)}–{format_significant(value.high, digits)}"


def _tell_need(draft: Draft, reports: Sequence[LoadingOut], *, is_computed: bool) -> None:
    """Images, bytes and cores that each card asks for."""
    first = reports[0]
    draft.assume(first.assumptions)
    gpus = draft.request.slots.gpu_count or 1
    draft.figure("gpus", gpus, "1", sources=("user:gpu_count",))
    lines = []
    for report in reports:
        name = report.gpu or "GPU"
        needed = Range(**{k: getattr(report.rate, k) * gpus for k in ("value", "low", "high")})
        for key, value, unit in (
            ("images", report.needed_per_s, "image/s"),
            ("images low", needed.low, "image/s"),
            ("images high", needed.high, "image/s"),
            ("disk", report.disk_mb_s, "MB/s"),
            *(
                (f"cores {key}", float(format_significant(getattr(report.cores, key), 2)), "vCPU")
                for key in ("value", "low", "high")
            ),
        ):
            draft.figure(f"{name}: {key}", value, unit, formula="speed of the card")
        spread = draft.phrase("loading.spread", span=_span(needed)) if is_computed else ""
        lines.append(
            draft.phrase(
                "loading.need",
                cards=f"{gpus}×{name}" if gpus > 1 else name,
                rate=_told(report.needed_per_s) + spread,
                mb=_told(report.disk_mb_s),
                cores=format_significant(report.cores.value, 2),
                span=_span(report.cores),
            )
        )
    draft.figure("image size", first.image_kb, "kB", sources=("data:speed/loading.json",))
    key = "loading.need_title" if is_computed else "loading.need_given"
    if first.image_kb >= _LARGE * _USUAL_KB:
        factor = float(format_significant(first.image_kb / _USUAL_KB, 2))
        draft.figure("usual image", _USUAL_KB, "kB", sources=("data:speed/loading.json",))
        draft.figure("larger than usual", factor, "1", formula="kB / kB of an ImageNet file")
        draft.say("loading.large", usual=_USUAL_KB, factor=f"{factor:g}", importance=HEAD)
    draft.bullets(
        lines, title=draft.phrase(key, model=first.model or "", size=f"{first.image_kb:g}")
    )


def _tell_seen(draft: Draft, reports: Sequence[LoadingOut], *, is_named: bool) -> None:
    """Images that arrive at the utilisation seen."""
    busy = draft.request.slots.gpu_util_pct
    if busy is None or not 0 < busy < 100:
        return
    draft.figure("utilisation seen", busy, "%", sources=("user:gpu_util_pct",))
    if not is_named:
        draft.say("loading.seen_share", busy=f"{busy:g}%")
        return
    arriving = reports[0].needed_per_s * busy / 100
    draft.figure("images that arrive", arriving, "image/s", formula="utilisation * need")
    draft.say("loading.seen", busy=f"{busy:g}%", rate=_told(arriving))


def _seen_rate(request: Request) -> float | None:
    """Images a second that arrive, where a greater rate is what was to be expected."""
    expected = request.slots.gpu_img_s
    rates = request.amounts.get("links.seen_per_s", ())
    return max((rate for rate in rates if expected is not None and rate < expected), default=None)


def _tell_seen_rate(draft: Draft, report: LoadingOut, seen: float) -> None:
    """The rate that arrives, of all cards and of each core, beside what a core does."""
    slots = draft.request.slots
    expected, gpus, core = slots.gpu_img_s or seen, slots.gpu_count or 1, report.decode_per_core
    total = seen * gpus
    share = seen / expected
    draft.figure("rate seen", seen, "image/s", sources=("user:rate",))
    draft.figure("rate expected", expected, "image/s", sources=("user:gpu_img_s",))
    draft.figure("share that arrives", round(share, 4), "1", formula="seen / expected")
    draft.figure("rate seen in all", total, "image/s", formula="seen * cards")
    draft.say("loading.seen_rate", seen=f"{seen:g}", expected=f"{expected:g}",
              share=f"{share * 100:.0f}%", importance=HEAD)  # fmt: skip
    if gpus > 1:
        draft.say("loading.seen_total", total=_told(total), cards=gpus, importance=HEAD)
    if slots.vcpu:
        each = total / slots.vcpu
        draft.figure("rate of a core", round(each, 3), "image/s", formula="seen * cards / vCPU")
        key = "loading.seen_cores" if each >= _SHARE_OF_CORE * core.low else "loading.seen_idle"
        draft.say(key, each=_told(each), vcpu=slots.vcpu, rate=f"{core.value:g}",
                  span=f"{core.low:g}–{core.high:g}", importance=HEAD)  # fmt: skip


def _tell_limits(draft: Draft, report: LoadingOut) -> None:
    """What a core decodes and what disks deliver, with where that stands."""
    core = report.decode_per_core
    for name, value in (("value", core.value), ("low", core.low), ("high", core.high)):
        draft.figure(f"decode per core {name}", value, "image/s", sources=(_DECODE_SOURCE.id,))
    draft.cite(_DECODE_SOURCE)
    draft.cite(_DISK_SOURCE)
    draft.figure("NAS from", 8, "TiB", sources=("data:speed/storage.json#nas",))
    draft.figure("CPFS of a TiB", 100, "MB/s", sources=("data:speed/storage.json#cpfs",))
    stores = []
    for store in report.stores:
        draft.figure(f"{store.name} throughput", store.mb_s, "MB/s",
                     sources=(f"data:speed/storage.json#{store.name}",))  # fmt: skip
        told = float(format_significant(store.images_per_s, 2))
        draft.figure(f"{store.name} images", told, "image/s",
                     formula="MB/s * 1000 / kB, two digits")  # fmt: skip
        stores.append(draft.phrase("loading.store", name=draft.phrase(f"loading.name_{store.name}"),
                                   mb=f"{store.mb_s:,.0f}",
                                   images=f"{told:,.0f}"))  # fmt: skip
    draft.say("loading.core", rate=f"{core.value:g}", span=f"{core.low:g}–{core.high:g}")
    separator = "; " if draft.language == "en" else "；"
    draft.say("loading.stores", stores=separator.join(stores), importance=DETAIL)
