"""Charts as HTML and SVG, drawn with the page's own colours so that dark mode follows.

Each chart has its numbers as a table beside it: a picture is never the only way to read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log2

from tools.units import GIB, format_significant
from ui.markup import tag, text
from ui.wording import Language, say, say_or

PART_COLOURS = {
    "weights": 1,
    "adapters": 2,
    "gathered_weights": 2,
    "gradients": 3,
    "optimizer_states": 4,
    "master_weights": 5,
    "activations": 6,
    "logits": 7,
    "kv_cache": 7,
    "kv_pool": 3,
    "allocator_slack": 9,
    "cuda_context": 8,
    "other": 10,
}
"""Colour slot of a memory part; the slots are Okabe and Ito's palette in static/xuanka.css."""


@dataclass(frozen=True, slots=True)
class Part:
    """One addend of the memory needed."""

    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """One curve of a chart: points in ascending x."""

    name: str
    points: tuple[tuple[float, float], ...]
    tips: tuple[str, ...] = ()
    """What is said of each point on hover; its values where there is none."""


def gib(size_bytes: float) -> str:
    """GiB with three digits, without the unit."""
    return format_significant(size_bytes / GIB)


def part_label(name: str, language: Language) -> str:
    """The reader's word for a memory part."""
    return say_or(f"part_{name}", language, name.replace("_", " "))


_SMALL = 0.02
"""Parts below this share of the total are drawn together; the table lists them all."""


def _slot(name: str) -> int:
    return PART_COLOURS.get(name, PART_COLOURS["other"])


def _shown(parts: Sequence[Part], total: int) -> list[Part]:
    large = [part for part in parts if part.size_bytes >= _SMALL * total]
    rest = total - sum(part.size_bytes for part in large)
    return [*large, Part("other", rest)] if rest > 0 else large


def memory_bar(
    parts: Sequence[Part],
    *,
    language: Language,
    usable_bytes: int | None,
    low_bytes: int | None = None,
    high_bytes: int | None = None,
) -> str:
    """The parts stacked against the usable memory, and the same as a table."""
    total = sum(part.size_bytes for part in parts)
    if total <= 0:
        return ""
    shown = _shown(parts, total)
    scale = max(total, usable_bytes or 0, high_bytes or 0) * 1.04
    segments = "".join(
        tag(
            "span",
            class_=f"xk-seg xk-c{_slot(part.name)}",
            style=f"width:{part.size_bytes / scale:.4%}",
            data_tip=f"{part_label(part.name, language)}: {gib(part.size_bytes)} GiB",
        )
        for part in shown
    )
    return tag(
        "figure",
        tag("figcaption", text(say("bar_title", language))),
        tag(
            "div",
            tag("div", segments, class_="xk-segs"),
            _interval(low_bytes, high_bytes, scale),
            _usable_mark(usable_bytes, scale, language),
            class_="xk-bar",
            aria_hidden="true",
        ),
        _balance(total, usable_bytes, language),
        _legend(shown, language),
        _parts_table(parts, total, usable_bytes, low_bytes, high_bytes, language),
        class_="xk-memory",
    )


def _interval(low: int | None, high: int | None, scale: float) -> str:
    if low is None or high is None or high <= low:
        return ""
    style = f"left:{low / scale:.4%};width:{(high - low) / scale:.4%}"
    return tag("span", class_="xk-interval", style=style)


def _usable_mark(usable: int | None, scale: float, language: Language) -> str:
    if usable is None:
        return ""
    label = tag("span", text(say("usable", language, size=gib(usable))))
    side = " xk-left" if usable / scale > 0.6 else ""
    return tag("span", label, class_=f"xk-usable{side}", style=f"left:{usable / scale:.4%}")


def _balance(total: int, usable: int | None, language: Language) -> str:
    if usable is None:
        return ""
    key = "bar_over" if total > usable else "bar_free"
    return tag("p", text(say(key, language, size=gib(abs(usable - total)))), class_=f"xk-{key}")


def _legend(parts: Sequence[Part], language: Language) -> str:
    items = "".join(
        tag(
            "li",
            tag("span", class_=f"xk-key xk-c{_slot(part.name)}"),
            text(f"{part_label(part.name, language)} "),
            tag("b", text(gib(part.size_bytes))),
        )
        for part in parts
    )
    return tag("ul", items, class_="xk-legend", aria_hidden="true")


def _parts_table(
    parts: Sequence[Part],
    total: int,
    usable: int | None,
    low: int | None,
    high: int | None,
    language: Language,
) -> str:
    rows = [
        (part_label(part.name, language), gib(part.size_bytes), f"{part.size_bytes / total:.0%}")
        for part in parts
        if part.size_bytes > 0
    ]
    rows.append((say("bar_total", language), gib(total), "100%"))
    if low is not None and high is not None:
        rows.append((say("bar_interval", language), f"{gib(low)}–{gib(high)}", ""))
    if usable is not None:
        rows.append((say("bar_usable", language), gib(usable), ""))
    heads = [say(key, language) for key in ("bar_part", "bar_size", "bar_share")]
    return tag(
        "details",
        tag("summary", text(say("bar_table", language))),
        table(heads, rows, caption=say("bar_title", language), numeric=(1, 2)),
        class_="xk-more",
    )


def table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, numeric: Sequence[int]
) -> str:
    """A plain table of texts; the first column heads its row."""
    head = "".join(tag("th", text(h), scope="col") for h in heads)
    body = "".join(
        tag(
            "tr",
            tag("th", text(row[0]), scope="row"),
            *(
                tag("td", text(cell), class_="xk-num" if i in numeric else None)
                for i, cell in enumerate(row[1:], start=1)
            ),
        )
        for row in rows
    )
    return tag(
        "div",
        tag(
            "table",
            tag("caption", text(caption), class_="xk-hidden"),
            tag("thead", tag("tr", head)),
            tag("tbody", body),
        ),
        class_="xk-scroll",
        tabindex="0",
    )


WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 320, 58, 44, 14, 14


def _x(value: float, low: float, high: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (log2(value) - log2(low)) / (log2(high) - log2(low))


def _y(value: float, low: float, high: float) -> float:
    span = HEIGHT - BOTTOM - TOP
    return HEIGHT - BOTTOM - span * (log2(value) - log2(low)) / (log2(high) - log2(low))


def powers_of_two(low: float, high: float) -> list[float]:
    """Powers of two from the largest at or below `low` to the smallest at or above `high`."""
    first = floor(log2(low))
    last = max(first + 1, ceil(log2(high)))
    return [2.0**k for k in range(first, last + 1)]


def log_chart(
    lines: Sequence[Line],
    *,
    x_label: str,
    y_label: str,
    title: str,
    marks: Sequence[tuple[float, float, str]] = (),
    diagonal: bool = False,
) -> str:
    """Curves or points over two axes of powers of two, each point with its values on hover."""
    xs = [x for line in lines for x, _ in line.points] + [m[0] for m in marks]
    ys = [y for line in lines for _, y in line.points] + [m[1] for m in marks]
    if not xs:
        return ""
    x_ticks, y_ticks = powers_of_two(min(xs), max(xs)), powers_of_two(min(ys), max(ys))
    if diagonal:
        x_ticks = y_ticks = sorted({*x_ticks, *y_ticks})
    x_range, y_range = (x_ticks[0], x_ticks[-1]), (y_ticks[0], y_ticks[-1])
    drawn = [_axes(x_ticks, y_ticks, x_range, y_range, x_label, y_label)]
    if diagonal:
        a, b = x_range
        drawn.append(_path([(a, a), (b, b)], x_range, y_range, "xk-diagonal"))
    for i, line in enumerate(lines):
        drawn.append(_curve(line, i, x_range, y_range, joined=not diagonal))
    drawn += [_mark(mark, x_range, y_range) for mark in marks]
    svg = tag(
        "svg", *drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title,
        class_="xk-chart",
    )  # fmt: skip
    return tag("div", svg, class_="xk-chart-box")


def short_number(value: float) -> str:
    """A tick's text: 512, 4k, 128k."""
    if value >= 1024 and value % 1024 == 0:
        return f"{int(value // 1024)}k"
    return format_significant(value)


def _axes(
    x_ticks: Sequence[float], y_ticks: Sequence[float], x_range: tuple[float, float],
    y_range: tuple[float, float], x_label: str, y_label: str,
) -> str:  # fmt: skip
    parts = []
    for tick in x_ticks:
        x = _x(tick, *x_range)
        parts.append(f'<line class="xk-grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="276"/>')
        parts.append(f'<text class="xk-tick" x="{x:.1f}" y="292" text-anchor="middle">'
                     f"{short_number(tick)}</text>")  # fmt: skip
    for tick in y_ticks:
        y = _y(tick, *y_range)
        parts.append(f'<line class="xk-grid" x1="{LEFT}" x2="626" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="xk-tick" x="52" y="{y + 4:.1f}" text-anchor="end">'
                     f"{short_number(tick)}</text>")  # fmt: skip
    parts.append(f'<text class="xk-axis" x="340" y="313" text-anchor="middle">'
                 f"{text(x_label)}</text>")  # fmt: skip
    parts.append(f'<text class="xk-axis" transform="translate(14 145) rotate(-90)" '
                 f'text-anchor="middle">{text(y_label)}</text>')  # fmt: skip
    return "".join(parts)


def _path(
    points: Sequence[tuple[float, float]],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    kind: str,
) -> str:
    d = " ".join(
        f"{'M' if i == 0 else 'L'}{_x(x, *x_range):.1f} {_y(y, *y_range):.1f}"
        for i, (x, y) in enumerate(points)
    )
    return f'<path class="{kind}" d="{d}"/>'


def _curve(
    line: Line,
    slot: int,
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    *,
    joined: bool,
) -> str:
    drawn = []
    if joined:
        drawn.append(_path(line.points, x_range, y_range, f"xk-line xk-s{slot % 8 + 1}"))
    for i, (x, y) in enumerate(line.points):
        plain = f"{line.name}: {short_number(x)} × {short_number(y)}"
        tip = text(line.tips[i] if line.tips else plain).replace('"', "&quot;")
        drawn.append(
            f'<circle class="xk-dot xk-f{slot % 8 + 1}" cx="{_x(x, *x_range):.1f}" '
            f'cy="{_y(y, *y_range):.1f}" r="4" data-tip="{tip}"/>'
        )
    return "".join(drawn)


def _mark(
    mark: tuple[float, float, str], x_range: tuple[float, float], y_range: tuple[float, float]
) -> str:
    x, y, tip = mark
    shown = text(tip).replace('"', "&quot;")
    return (
        f'<circle class="xk-mark" cx="{_x(x, *x_range):.1f}" cy="{_y(y, *y_range):.1f}" r="7" '
        f'data-tip="{shown}"/>'
    )
