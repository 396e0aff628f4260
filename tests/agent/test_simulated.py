"""A simulated step in an answer: when it is run, and that the verdict follows it."""

from __future__ import annotations

import dataclasses
import fcntl
import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent import Advisor
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.toolbox.memory import MemoryArguments, PartOut, estimate_memory
from agent.toolbox.simulate import SimulationReport, SimulationState, simulate_memory
from agent.understanding import parse
from tools.errors import UnsupportedError
from tools.memory.simulate import SimulationStoppedError
from tools.units import GIB

HAS_TORCH = importlib.util.find_spec("torch") is not None
Runner = Callable[[MemoryArguments], SimulationReport]
EXACT = "Qwen2.5-7B LoRA batch 1 长度 2048 在 A10 上精确要多少显存?模拟一下"
PLAIN = "Qwen2.5-7B LoRA batch 1 长度 2048 在 A10 上够吗"
STRADDLING = "Qwen2.5-7B LoRA batch 4 长度 1024 在 A10 上够吗"


def _peak(size: int) -> Runner:
    """A runner whose step peaks at so many bytes."""

    def run(arguments: MemoryArguments) -> SimulationReport:
        beside = GIB
        return SimulationReport(
            model=str(arguments.model),
            phase="bwd",
            allocated_bytes=size,
            estimate_bytes=estimate_memory(arguments).allocated_bytes,
            process_bytes=size + beside,
            low_bytes=size + beside // 2,
            high_bytes=size + beside + beside // 2,
            parts=(
                PartOut(name="activations", bytes=size, formula="one simulated step"),
                PartOut(name="cuda_context", bytes=beside, formula="context"),
            ),
            from_cache=False,
        )

    return run


def _answered(
    question: str, runner: Runner, *, state: SimulationState = "ready"
) -> tuple[Answer, list[ToolResult]]:
    """The answer where a step is simulated by a runner of the test's."""
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    tools["simulate_memory"] = dataclasses.replace(tools["simulate_memory"], function=runner)
    results: list[ToolResult] = []
    while True:
        step = advance(compose(parse(question), Context(simulation=state)), results)
        if isinstance(step, Answer):
            return step, results
        results += [tools[call.name].call(call.arguments) for call in step]


def _simulated(results: list[ToolResult]) -> list[ToolResult]:
    return [result for result in results if result.name == "simulate_memory"]


@pytest.mark.parametrize(
    ("size_gib", "verdict"), [(10, "fits"), (20.5, "tight"), (25, "does_not_fit")]
)
def test_the_verdict_and_the_figures_are_those_of_the_step(size_gib: float, verdict: str) -> None:
    answer, results = _answered(EXACT, _peak(int(size_gib * GIB)))
    assert len(_simulated(results)) == 1
    assert answer.verdict == verdict
    assert answer.memory is not None
    assert answer.memory.low_bytes == int((size_gib + 0.5) * GIB)
    named = {figure.name: figure.value for figure in answer.figures}
    assert named["beside_the_step"] == GIB
    assert "闭式估算" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "exact memory of LoRA on Qwen2.5-7B, batch 2, length 2048, on an A10?",
        "Simulate it: LoRA fine-tuning of Qwen2.5-7B on a 24GB card",
        "Qwen2.5-7B LoRA 在 A10 上,帮我实测一下显存",
        "精准算一下 Qwen2.5-7B QLoRA 在 4090 上要多少显存",
    ],
)
def test_an_exact_figure_is_simulated(question: str) -> None:
    assert len(_simulated(_answered(question, _peak(10 * GIB))[1])) == 1


@pytest.mark.parametrize("turn", ["精确一点,模拟一下", "simulate it", "exact figure please"])
def test_the_run_of_the_turn_before_is_simulated(turn: str) -> None:
    before = parse("bge-large 微调 batch 32 长度 512 在 24G 上够吗")
    after = parse(turn, [before])
    assert (after.intent, after.slots.batch) == ("fit_check", 32)
    assert after.says("fitting.exact")


@pytest.mark.parametrize(
    "question",
    [
        "Qwen2.5-1.5B LoRA batch 1 长度 512 在 A100 80G 上够吗",
        "我实测一步 0.8 秒,Qwen2.5-1.5B LoRA batch 1 长度 512 在 A100 80G 上显存够吗",
        "Qwen2.5-7B 推理在 A10 上精确要多少显存",
    ],
)
def test_nothing_is_simulated_without_need(question: str) -> None:
    assert not _simulated(_answered(question, _peak(10 * GIB))[1])


def test_an_interval_on_both_sides_of_the_limit_is_settled_by_the_step() -> None:
    closed, _ = _answered(STRADDLING, _peak(GIB), state="missing")
    assert closed.memory is not None
    assert closed.memory.usable_bytes is not None
    assert closed.memory.low_bytes <= closed.memory.usable_bytes < closed.memory.high_bytes
    assert "xuanka[simulate]" not in closed.text
    settled, results = _answered(STRADDLING, _peak(12 * GIB))
    assert len(_simulated(results)) == 1
    assert settled.verdict == "fits"


@pytest.mark.parametrize(("state", "told"), [("missing", "xuanka[simulate]"), ("off", "XUANKA")])
def test_without_a_simulator_the_closed_form_answers(state: SimulationState, told: str) -> None:
    answer, results = _answered(EXACT, _peak(GIB), state=state)
    assert not _simulated(results)
    assert told in answer.text
    assert answer.memory == _answered(PLAIN, _peak(GIB), state=state)[0].memory


def test_a_limit_leaves_the_closed_form_and_is_told() -> None:
    def runs_too_long(arguments: MemoryArguments) -> SimulationReport:
        raise SimulationStoppedError(str(arguments.model), limit="seconds", reason="too long")

    answer, _ = _answered(EXACT, runs_too_long)
    assert "时间上限" in answer.text
    assert answer.memory == _answered(PLAIN, _peak(GIB), state="off")[0].memory


def test_a_size_alone_is_not_simulated() -> None:
    answer, results = _answered("7B LoRA 在 A10 上精确要多少显存", _peak(GIB))
    assert not _simulated(results)
    assert "模型名" in answer.text


def test_a_service_simulates_only_where_that_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XUANKA_SIMULATION")
    assert Settings().simulation
    assert not Settings().reached_over_http().simulation
    monkeypatch.setenv("XUANKA_SIMULATION", "true")
    assert Settings().reached_over_http().simulation
    with pytest.raises(UnsupportedError, match="turned off"):
        simulate_memory(
            MemoryArguments(model="Qwen2.5-7B", method="lora"),
            settings=Settings(simulation=False),
        )


@pytest.mark.torch
@pytest.mark.skipif(not HAS_TORCH, reason="needs the simulate extra")
def test_a_question_is_answered_with_a_real_step(tmp_path: Path) -> None:
    settings = Settings(simulation=True, simulation_seconds=600, state_dir=tmp_path)
    question = "exact memory of LoRA on SmolLM2-135M, batch 1, length 128, on an A10? simulate it"
    with Advisor(settings) as advisor:
        first, again = advisor.ask(question), advisor.ask(question)
    calls = [c for c in first.tool_calls if c.name == "simulate_memory"]
    assert [c.ok for c in calls] == [True]
    assert first.verdict == "fits"
    assert again.memory == first.memory
    named = {figure.name: figure.value for figure in first.figures}
    apart = abs(named["simulated_allocated"] / named["closed_form_of_the_same_tensors"] - 1)
    assert apart < 0.1


@pytest.mark.torch
@pytest.mark.skipif(not HAS_TORCH, reason="needs the simulate extra")
def test_only_one_step_is_simulated_at_a_time(tmp_path: Path) -> None:
    settings = Settings(simulation=True, state_dir=tmp_path)
    handle = os.open(tmp_path / "simulation.lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(SimulationStoppedError, match="another simulation"):
            simulate_memory(
                MemoryArguments(model="SmolLM2-135M", method="lora", seq_len=96), settings=settings
            )
    finally:
        os.close(handle)


@pytest.mark.torch
@pytest.mark.skipif(not HAS_TORCH, reason="needs the simulate extra")
def test_a_step_longer_than_the_limit_is_stopped(tmp_path: Path) -> None:
    settings = Settings(simulation=True, simulation_seconds=0.01, state_dir=tmp_path)
    arguments = MemoryArguments(model="SmolLM2-135M", method="lora", seq_len=80)
    with pytest.raises(SimulationStoppedError, match="longer"):
        simulate_memory(arguments, settings=settings)
