"""Spans of time that mean something of their own: time between interruptions or saves, days."""

from __future__ import annotations

import re
from itertools import islice

from agent.understanding.lexicon.numerals import (
    DIGITS,
    HAN,
    english_words,
    number_pattern,
    parse_number,
)
from agent.understanding.lexicon.readings import Board
from agent.understanding.lexicon.text import Document

_MOST = 20
_WORDS = "|".join(sorted(english_words(), key=len, reverse=True))
_N = rf"(?P<n>\d{{1,5}}(?:\.\d{{1,2}})?|{HAN}{{1,4}}|(?<![a-z])(?:{_WORDS}))"
_UNIT = (
    r"(?:个)?(?P<unit>小时|分钟|分|天|周|hours?|hrs?|h|minutes?|mins?|min|days?|weeks?)(?![a-z])"
)
_SPAN = rf"{_N}\s?-?{_UNIT}"
_HOURS = {"小": 1.0, "h": 1.0, "分": 1 / 60, "m": 1 / 60, "天": 24.0, "d": 24.0, "周": 168.0,
          "w": 168.0}  # fmt: skip
_TAKEN = (
    r"(?:被|会被|要被)?(?:系统|平台)?(?:回收|中断|释放|抢占|打断|掉线|驱逐|停掉|收走|收回|收掉|抢走|踢掉|踢|收"
    r"|抢|断(?!点)|没了|没|挂掉|挂)"
)
_TAKEN_EN = (
    r"(?:reclaim(?:ed|s)?|interrupt(?:ed|s|ions?)?|preempt(?:ed|s|ions?)?|evict(?:ed|s)?"
    r"|(?<![a-z])(?:dies|die|killed|lost|yanked|pulled|taken(?: away)?|goes away|disappears))"
)
_ABOUT = r"(?:about|roughly|around|on average|approximately)?\s?"
_INTERRUPTED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:平均|大概|大约|差不多|一般|通常|基本|每隔?|约)+(?:是|跑|撑|隔)?\s?{_SPAN}\s?(?:左右)?"
        rf"(?:就|会|都|要|得)*{_TAKEN}",
        rf"{_SPAN}\s?(?:左右)?(?:就|会|要|得)*{_TAKEN}一?[次回趟]",
        rf"{_TAKEN}(?:间隔|周期)[^\d,。;\n]{{0,6}}{_SPAN}",
        rf"(?:存活|能活|活|寿命|活得了|挺|撑)(?:时间)?(?:平均|大概|大约|约|只有|也就|不过|了)*\s?{_SPAN}",
        rf"(?<![a-z])(?:lives?|lifetime|life|survives?|lasts?|stays? up|uptime)(?:\sis|\sof"
        rf"|\sfor)?\s?"
        rf"(?:about|roughly|around|on average|only|~|\s)*{_SPAN}",
        rf"{_SPAN}\s(?:spot\s)?(?:node|instance|machine|vm)?\s?(?:life|lifetime|uptime)(?![a-z])",
        rf"{_TAKEN_EN}[a-z ]{{0,16}}?(?:every|each|after)\s{_ABOUT}{_SPAN}",
        rf"(?:every|each)\s{_ABOUT}{_SPAN}[a-z ]{{0,24}}?{_TAKEN_EN}",
    )
)
_ENDS = re.compile(
    r"回收|中断|释放|抢占|竞价|打断|掉线|驱逐|停掉|收走|收回|被收|被抢|被踢|存活|寿命|断点|checkpoint|ckpt|存档|spot|preempt|interrupt|reclaim|evict"
)
"""Texts that speak of machines that are taken away."""
_SAVE = r"(?:checkpoint|ckpt|检查点|断点|存档|保存|存盘|存)"
_SAVED = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_SAVE}[^,。;\n0-9]{{0,6}}?每隔?\s?{_SPAN}",
        rf"每隔?\s?{_SPAN}\s?(?:就)?(?:存|保存|写|做|打)?(?:一次|一个|下)?\s?{_SAVE}",
        rf"(?:checkpoint(?:s|ing|ed)?|sav(?:e|es|ed|ing))[a-z ]{{0,24}}?(?:every|each)\s"
        rf"{_ABOUT}{_SPAN}",
        rf"(?:every|each)\s{_ABOUT}{_SPAN}[a-z ,]{{0,12}}?(?:checkpoint|save)",
        rf"{_SPAN}\s(?:checkpoint|save)(?:s| interval)?(?! takes)",
    )
)
_LENGTH = rf"{_ABOUT}~?{_N}\s?-?(?P<unit>秒钟?|分钟?|seconds?|secs?|s|minutes?|mins?|m)(?![a-z])"
_SAVE_EN = r"(?:save|saving|checkpoint|checkpointing|ckpt|snapshot)"
_SAVE_TAKES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![a-z]){_SAVE_EN}(?:\s(?!every|each)[a-z0-9]+){{0,4}}?\s(?:takes?|took|blocks?|blocking"
        r"|stalls?|pauses?|stops?|freezes?|halts?|holds?|costs?|needs?|lasts?|eats?)"
        rf"(?:\s(?!every|each|place)[a-z]+){{0,4}}?\s{_LENGTH}",
        rf"{_LENGTH}\s(?:per|each|an?|for (?:an?|each|every|one)|to (?:write|save|dump|do))\s"
        rf"(?:an?\s|one\s|the\s|full\s)*{_SAVE_EN}(?![a-z])",
        r"(?:存|保存|写|落盘|checkpoint|ckpt|检查点|快照)[^,。;\n\d每隔]{0,8}?(?:卡住?|停|阻塞|暂停|停顿|要|花|耗时?|占|等)"
        rf"[^,。;\n\d每隔]{{0,6}}?{_LENGTH}(?!\s?(?:存|保存|一次|写))",
    )
)
"""How long one save holds the training up, told by a verb between."""
_A_DAY = re.compile(
    rf"(?:每天|一天|每日|天天|每个?工作日)[^\d,。;\n]{{0,10}}?{_N}\s?(?:个)?(?:小时|钟头|h(?![a-z]))"
    rf"|(?P<o>\d{{1,2}})\s?(?:hours?|hrs?|h|小时)\s?[x*]\s?(?=\d{{1,3}}\s?(?:个)?\s?(?:working "
    rf"|work |business )?(?:天|日|工作日|days?))"
    rf"|(?P<m>\d{{1,2}}(?:\.\d)?)\s?(?:hours?|hrs?|h)\s?(?:/|a|per|each|every)\s?(?:work(?:ing)?\s?|business\s)?day"
)
_DAYS = re.compile(
    rf"{_N}\s?-?(?:个)?(?:工作|交易|自然|working |work ?|business |week)?(?P<unit>天|日|周|days?"
    rf"|weeks?)"
    r"(?![a-z内后前])"
)
_ONE_OF_RENT = re.compile(
    r"(?:租|开|用|跑|包|挂|连开|连跑)(?:了|上|满|个)?(?:一|1)(?:整)?(?:个)?(?P<unit>天|周|星期)(?!多少|几|要)"
    r"|(?<![a-z])for\s(?:a|one|1)\s(?:full\s|whole\s)?(?P<unit2>day|week)(?![a-z])"
)
"""One day or week of use: "租一周", "for one week"."""
_RUN_HOURS = re.compile(
    rf"(?:连续|持续|一共|总共|跑|开|用|租|训练?|挂|烧)(?:了|上|满|够)?\s?{_N}\s?(?:个)?(?:小时|钟头)(?!一?次)"
    r"|(?<![\d.])(?P<o>[2-9]|[1-9]\d{1,4})\s?个?(?:小时|钟头)(?=\s?(?:大概|一共|总共|下来)?(?:要|得|花)?多少)"
    rf"|(?<![a-z])(?:for|run|rent|use)\s(?:it\s)?(?:for\s)?(?P<m>\d{{1,5}})\s?(?:hours|hrs|h)(?![a-z])"
)
_ONE = ("一", "1", "a", "one", "an")
_WORKDAYS_OF_A_MONTH = 30


_ASKED = r"(?:请求|查询|调用|访问|推理|次|句|条|文档|文本|张图|张图片|图片)"
_ASKED_EN = r"(?:requests?|reqs?|queries|calls|inferences|embeddings|images?|documents?|docs|texts)"
_RATES = (
    (1.0, re.compile(rf"每秒钟?[^\d,。;\n]{{0,6}}?{_N}\s?(?:个|次|条|张)?{_ASKED}")),
    (1.0, re.compile(rf"每秒钟?\s?{_ASKED}(?:量|数)?[^\d,。;\n]{{0,5}}?{_N}\s?(?:个|次|条)?")),
    (1.0, re.compile(rf"{_N}\s?(?:个|次|条)?{_ASKED}\s?(?:/|每)\s?(?:秒|s(?![a-z]))")),
    (60.0, re.compile(rf"每分钟[^\d,。;\n]{{0,6}}?{_N}\s?(?:个|次|条|张)?{_ASKED}")),
    (60.0, re.compile(rf"{_N}\s?{_ASKED_EN}\s?(?:/|per|a|each)\s?min(?:ute)?(?![a-z])")),
    (1.0, re.compile(rf"{_N}\s?{_ASKED_EN}\s?(?:/|per|a|each|every)\s?s(?:ec(?:ond)?)?(?![a-z])")),
)


_IMAGES = re.compile(r"图|images?")
_LOADING = re.compile(
    r"(?<![a-z])(?:nfs|nas|oss|s3|cpfs|dataloader|storage|disk|train(?:ing)?|eat|feed|read|kb)"
    r"(?![a-z])|存储|读取|加载|训练|喂|利用率|硬盘|云盘|解码"
)


_FED = re.compile(
    rf"每秒钟?(?:要求|需要|大概|大约|要|得|能|只能)*\s?(?:喂|读|吃|处理|消耗|加载)?(?:进|满|到)?\s?(?P<n>{number_pattern()})\s?(?:张|幅)"
    rf"|(?P<m>{DIGITS}k?)\s?(?:images?|imgs?|pictures|jpegs?)\s?(?:/|per|a|each|every)\s?s(?:ec(?:ond)?)?(?![a-z])"
)
"""Images a second that a job is fed with."""


_EACH_KB = re.compile(
    r"(?:每个|单个|每份|每张|each|apiece)(?:文件|图片?)?(?:大概|大约|平均|约|about|is|around|\s)*"
    r"(?P<n>\d{1,5}(?:\.\d)?)\s?(?P<unit>kb|kib|mb)(?![a-z])"
)
"""Size of one file of many."""


def read_rates(document: Document, board: Board) -> None:
    """Note requests a second, said a second or a minute, and images that a job reads."""
    for found in islice(_EACH_KB.finditer(document.rest()), _MOST):
        size = float(found["n"]) * (1000 if found["unit"] == "mb" else 1)
        board.add("img_kb", size, found.start(), found.end(), weight=2.0)
        document.take(*found.span("n"))
    is_loading = _LOADING.search(document.text) is not None
    for found in islice(_FED.finditer(document.rest()), _MOST) if is_loading else ():
        value = parse_number(found["n"] or found["m"])
        if value:
            board.add("gpu_img_s", value, found.start(), found.end(), weight=3.0)
            document.take(*found.span("n" if found["n"] else "m"))
    for divisor, pattern in _RATES:
        for found in islice(pattern.finditer(document.rest()), _MOST):
            value = _value(found["n"])
            if _IMAGES.search(found[0]) and is_loading:
                continue  # what a training job reads, not what a service answers
            if value:
                board.add("request_rate_per_s", round(value / divisor, 6), found.start(),
                          found.end(), weight=4.0)  # fmt: skip
                document.take(found.start("n"), found.end("n"))


_STEP = r"(?:个)?(?:steps?|步|iters?|iterations?|its?|次迭代)(?![a-z])"
_STEP_RATES = (
    (1.0, re.compile(rf"(?:每秒钟?|一秒|1秒)[^\d,。;\n]{{0,5}}?{_N}\s?{_STEP}")),
    (1.0, re.compile(rf"{_N}\s?{_STEP}\s?(?:/|a|per|each|every|每)\s?(?:s|sec|second"
    rf"|秒)(?![a-z])")),
    (60.0, re.compile(rf"(?:每分钟|一分钟)[^\d,。;\n]{{0,5}}?{_N}\s?{_STEP}")),
    (60.0, re.compile(rf"{_N}\s?{_STEP}\s?(?:/|a|per|each|every|每)\s?(?:min|minute"
    rf"|分钟)(?![a-z])")),
)  # fmt: skip


_STEP_RATE_WORDS = re.compile(r"秒|分钟|sec|min|/s")


def read_step_rates(document: Document, board: Board) -> None:
    """Note steps a second, said a second or a minute."""
    if not _STEP_RATE_WORDS.search(document.text):
        return
    for divisor, pattern in _STEP_RATES:
        for found in islice(pattern.finditer(document.rest()), _MOST):
            value = _value(found["n"])
            if value:
                board.add("steps_per_s", round(value / divisor, 6), found.start(), found.end(),
                          weight=4.0)  # fmt: skip
                document.take(found.start("n"), found.end())


def read_durations(document: Document, board: Board) -> None:
    """Note how long a save takes, the time between saves and interruptions, and days of rent."""
    _read_saves(document, board)
    for slot, patterns, factor in (
        ("mtbf_hours", _INTERRUPTED, 1.0),
        ("ckpt_interval_minutes", _SAVED, 60.0),
    ):
        if slot == "mtbf_hours" and not _ENDS.search(document.text):
            continue
        for pattern in patterns:
            for found in islice(pattern.finditer(document.rest()), _MOST):
                value = _hours(found["n"], found["unit"])
                if value:
                    board.add(slot, round(value * factor, 6), found.start(), found.end(),
                              weight=5.0)  # fmt: skip
                    document.take(found.start("n"), found.end("unit"))
    _read_days(document, board)


def _read_saves(document: Document, board: Board) -> None:
    for pattern in _SAVE_TAKES:
        for found in islice(pattern.finditer(document.rest()), _MOST):
            value = _value(found["n"])
            if value:
                minutes = value / 60 if found["unit"][0] in "秒s" else value
                board.add("ckpt_minutes", round(minutes, 6), found.start(), found.end(), weight=2.0)
                document.take(found.start("n"), found.end("unit"))
                return


def _read_days(document: Document, board: Board) -> None:
    text = document.rest()
    daily = _A_DAY.search(text)
    days = next(
        (
            f
            for f in islice(_DAYS.finditer(text), _MOST)
            if f["n"] not in _ONE and _is_rent(text, f)
        ),
        None,
    )
    if daily is not None:
        each = _value(daily["n"] or daily["m"] or daily["o"])
        count = _hours_of(days) / 24 if days is not None else None
        if count is None and re.search("月|month", text):
            count = _WORKDAYS_OF_A_MONTH
        if each and each <= 24 and count:
            board.add("hours", each * count, daily.start(), daily.end(), weight=4.0)
            board.add("hours_per_day", each, daily.start(), daily.end())
            board.add("days", count, daily.start(), daily.end())
            document.take(daily.start(), daily.end())
            if days is not None:
                document.take(days.start(), days.end())
    elif days is not None:
        board.add("hours", _hours_of(days), days.start(), days.end(), weight=3.0)
        document.take(days.start(), days.end())
    elif (one := _ONE_OF_RENT.search(text)) is not None:
        unit = one["unit"] or one["unit2"]
        board.add(
            "hours", 168.0 if unit[0] in "周星w" else 24.0, one.start(), one.end(), weight=2.5
        )
        document.take(one.start(), one.end())
    elif (run := _RUN_HOURS.search(text)) is not None and run["n"] not in _ONE:
        value = _value(run["n"] or run["m"] or run["o"])
        if value:
            board.add("hours", value, run.start(), run.end(), weight=2.0)
            document.take(run.start(), run.end())


def _is_rent(text: str, found: re.Match[str]) -> bool:
    """Whether days are a length of use, not a date or a deadline that something is past."""
    return _hours(found["n"], found["unit"]) > 0 and not text.startswith("ago", found.end() + 1)


def _hours_of(found: re.Match[str]) -> float:
    """Hours of days or weeks, with the half that may follow: "3天半"."""
    half = 0.5 if found.string.startswith("半", found.end()) else 0.0
    return _hours(found["n"], found["unit"]) + half * _HOURS.get(found["unit"][0], 24.0)


def _hours(written: str, unit: str) -> float:
    value = _value(written)
    return 0.0 if value is None else value * _HOURS.get(unit[0], 24.0)


def _value(written: str) -> float | None:
    value = parse_number(written)
    return english_words().get(written) if value is None else value
