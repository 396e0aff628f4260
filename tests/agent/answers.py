"""Helpers: an answer with the tool results behind it, made without the graph."""

from __future__ import annotations

from agent import ungrounded
from agent.answer import Answer
from agent.answering import compose
from agent.answering.plan import Context, advance
from agent.grounding import Evidence
from agent.request import Request
from agent.settings import Settings
from agent.toolbox import ToolResult, build_toolbox
from agent.toolbox.guidance import GuidanceReport
from agent.understanding import parse


def answered(question: str, *, own_machine: bool = False) -> tuple[Answer, list[ToolResult]]:
    """The embedded answer to a question, and the results of its tool calls."""
    tools = {tool.name: tool for tool in build_toolbox(Settings(own_machine=own_machine))}
    request = parse(question)
    results: list[ToolResult] = []
    while True:
        step = advance(compose(request, Context(own_machine=own_machine)), results)
        if isinstance(step, Answer):
            return step, results
        results += [tools[call.name].call(call.arguments) for call in step]


def talked(*turns: str) -> list[Answer]:
    """The embedded answers to the turns of one conversation, no number without an origin."""
    tools = {tool.name: tool for tool in build_toolbox(Settings())}
    earlier: list[Request] = []
    answers: list[Answer] = []
    for turn in turns:
        request, context = parse(turn, earlier), Context(earlier=tuple(earlier))
        results: list[ToolResult] = []
        while not isinstance(step := advance(compose(request, context), results), Answer):
            results += [tools[call.name].call(call.arguments) for call in step]
        assert not ungrounded(step, question=" ".join(turns))
        answers.append(step)
        earlier.append(request)
    return answers


def answer(question: str) -> Answer:
    """The embedded answer to a question, in which no number is without an origin."""
    found, _ = answered(question)
    assert not ungrounded(found, question=question)
    return found


def evidence_of(question: str) -> tuple[Evidence, Answer]:
    """What may be stated in answer to a question."""
    answer, results = answered(question)
    passages = [
        passage.text
        for result in results
        if isinstance(result.report, GuidanceReport)
        for passage in result.report.passages
    ]
    return Evidence.of(answer, question=question, results=results, passages=passages), answer
