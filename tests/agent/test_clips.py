"""Time and memory of a video are those of the same clip."""

from __future__ import annotations

from agent.toolbox.items import ItemReport
from agent.toolbox.memory import MemoryReport
from tests.agent.answers import answered


def test_memory_is_that_of_the_clip_that_is_timed() -> None:
    _, results = answered("Wan2.1-T2V-14B A100 80G 生成一段视频要多久")
    timed = next(r.report for r in results if isinstance(r.report, ItemReport))
    held = next(r.report for r in results if isinstance(r.report, MemoryReport))
    assert timed.size == "1280x720"
    call = next(r for r in results if r.report is held)
    assert call.arguments["img_size"] == 960  # sqrt(1280 * 720)
    assert call.arguments["frames"] == timed.frames == 81
