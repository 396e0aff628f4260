"""The façade: language, conversations, batches, odd questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent import Advisor, Answered, Settings, TextDelta, ToolFinished, ToolStarted
from agent.__main__ import main


@pytest.fixture
def advisor(tmp_path: Path) -> Iterator[Advisor]:
    with Advisor(Settings(state_dir=tmp_path)) as made:
        yield made


def test_7b_on_a10_names_the_usable_memory_and_all_three_methods(advisor: Advisor) -> None:
    answer = advisor.ask("7B 微调能在 A10 上跑吗?")
    assert answer.language == "zh"
    assert answer.intent == "fit_check"
    assert answer.verdict in ("fits", "tight")
    assert "21.95 GiB" in answer.text
    assert "22,476 MiB" in answer.text
    for words in ("全参微调", "LoRA", "QLoRA", "放不下"):
        assert words in answer.text
    assert any(a.name == "method" and a.value == "lora" for a in answer.assumptions)
    assert any(o.instance_type.startswith("ecs.gn7i") and o.priced_on for o in answer.offers)
    assert any(c.id.startswith("guide:") for c in answer.citations)


def test_english_question_gets_an_english_answer(advisor: Advisor) -> None:
    answer = advisor.ask("Can I fine-tune a 7B model on an A10?")
    assert answer.language == "en"
    assert not any("\u4e00" <= c <= "\u9fff" for c in answer.text)


def test_language_can_be_forced(advisor: Advisor) -> None:
    assert advisor.ask("7B 微调能在 A10 上跑吗?", language="en").language == "en"


@pytest.mark.parametrize("question", ["", "   \n", "x" * 100_001, "显" * 60_000])
def test_unreadable_question_gets_one_sentence(advisor: Advisor, question: str) -> None:
    answer = advisor.ask(question)
    assert answer.intent == "invalid_input"
    assert answer.memory is None
    assert 0 < len(answer.text) < 200


@pytest.mark.parametrize(
    "question",
    ["7B LoRA batch_size=-1", "7B 微调 seq_len=0 要多少显存", "fine-tune a 0B model on a T4"],
)
def test_impossible_value_gives_no_figure(advisor: Advisor, question: str) -> None:
    answer = advisor.ask(question)
    assert answer.intent == "invalid_input"
    assert answer.verdict == "not_applicable"
    assert answer.memory is None
    assert "GiB" not in answer.text


def test_absurd_value_is_computed_and_called_out_of_proportion(advisor: Advisor) -> None:
    answer = advisor.ask("7T 参数模型在一张 T4 上全参微调行吗")
    assert answer.verdict == "does_not_fit"
    assert answer.memory is not None
    assert answer.memory.low_bytes > 10**13
    assert "不成比例" in answer.text


def test_unknown_instance_is_corrected_and_the_nearest_named(advisor: Advisor) -> None:
    answer = advisor.ask("gn7i-gpu8 怎么样")
    assert answer.corrections
    assert "ecs.gn7i-" in answer.text


def test_poem_is_declined_in_one_sentence(advisor: Advisor) -> None:
    answer = advisor.ask("写首诗")
    assert answer.intent == "out_of_scope"
    assert answer.tool_calls == ()
    assert answer.text.count("。") == 1


def test_follow_up_inherits_and_a_thread_is_remembered(advisor: Advisor, tmp_path: Path) -> None:
    first = advisor.ask("Qwen2.5-7B 做LoRA A10单卡 bs1 seq2048", thread="t")
    second = advisor.ask("那全参呢", thread="t")
    assert first.request["method"] == "lora"
    assert second.request["model"] == first.request["model"]
    assert second.request["method"] == "full"
    assert second.verdict == "does_not_fit"
    with Advisor(Settings(state_dir=tmp_path)) as again:
        third = again.ask("换成 4090 呢", thread="t")
        assert third.request["model"] == first.request["model"]
        assert [turn["question"] for turn in again.export("t")][1] == "那全参呢"


def test_threads_do_not_see_each_other(advisor: Advisor) -> None:
    advisor.ask("Qwen2.5-7B 做LoRA A10单卡", thread="a")
    answer = advisor.ask("那全参呢", thread="b")
    assert answer.request.get("model") is None


def test_deleted_conversation_is_forgotten(advisor: Advisor) -> None:
    advisor.ask("Qwen2.5-7B 做LoRA A10单卡", thread="t")
    assert advisor.delete("t") is True
    assert advisor.export("t") == []
    assert advisor.delete("t") is False


def test_long_conversation_is_trimmed_without_losing_the_model(tmp_path: Path) -> None:
    with Advisor(Settings(state_dir=tmp_path, history_tokens=500)) as advisor:
        advisor.ask("Qwen2.5-7B 做LoRA A10单卡 bs1 seq2048", thread="t")
        for _ in range(4):
            advisor.ask("那换成 QLoRA 呢", thread="t")
        answer = advisor.ask("全参呢", thread="t")
        assert "Qwen2.5-7B" in str(answer.request["model"])
        assert len(advisor.export("t")) < 6


def test_stream_shows_steps_then_text_then_the_answer(advisor: Advisor) -> None:
    events = list(advisor.stream("Qwen2.5-7B QLoRA 在 A10 上行吗"))
    started = [e for e in events if isinstance(e, ToolStarted)]
    finished = {e.id: e for e in events if isinstance(e, ToolFinished)}
    assert started
    assert {e.id for e in started} == set(finished)
    assert all(e.ok for e in finished.values())
    assert isinstance(events[-1], Answered)
    assert "".join(e.delta for e in events if isinstance(e, TextDelta)) == events[-1].answer.text


def test_async_gives_the_same_answer(advisor: Advisor) -> None:
    question = "Qwen2.5-7B QLoRA 在 A10 上行吗"
    assert asyncio.run(advisor.aask(question, thread="t")).text == advisor.ask(question).text


def test_same_question_gives_the_same_answer(advisor: Advisor) -> None:
    one, two = (advisor.ask("Qwen2.5-14B LoRA 需要多大显存?") for _ in range(2))
    same = {"elapsed_ms": 0.0, "tool_calls": ()}
    assert one.model_copy(update=same) == two.model_copy(update=same)


def test_hosted_advisor_does_not_probe_its_server(advisor: Advisor) -> None:
    answer = advisor.ask("what GPU do I have in this machine?")
    assert answer.intent == "probe_local"
    assert "nvidia-smi" in answer.text
    assert all(not call.ok for call in answer.tool_calls if call.name == "probe_local_gpu")


def test_command_line_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "--lang", "en", "阿里云 g7 是 GPU 吗"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["language"] == "en"
    assert answer["intent"] == "catalog_lookup"


def test_command_line_needs_a_question(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


def test_batch_answers_each_line_and_its_follow_ups(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    rows = [
        {"id": "a", "question": "Qwen2.5-7B LoRA A10", "turns": ["那全参呢"]},
        {"id": "b", "question": "gn7i-gpu8 怎么样"},
    ]
    source.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    assert main(["--batch", str(source), "--out", str(target)]) == 0
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert [(line["id"], len(line["answers"])) for line in lines] == [("a", 2), ("b", 1)]
    assert lines[0]["answers"][1]["request"]["method"] == "full"


def test_batch_names_the_bad_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text('{"id": "a"}\n', encoding="utf-8")
    assert main(["--batch", str(source), "--out", str(tmp_path / "out.jsonl")]) == 1
    assert "line 1" in capsys.readouterr().err


def test_config_is_shown_with_secrets_masked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XUANKA_API_KEY", "sk-very-secret")
    monkeypatch.setenv("XUANKA_BASE_URL", "http://127.0.0.1:9/v1")
    assert main(["--show-config"]) == 0
    shown = capsys.readouterr().out
    assert "sk-very-secret" not in shown
    assert json.loads(shown)["base_url"] == "http://127.0.0.1:9/v1"


def test_bad_setting_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XUANKA_READ_TIMEOUT_S", "-1")
    assert main(["--show-config"]) == 2
    assert "read_timeout_s" in capsys.readouterr().err


def test_file_of_settings_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "xuanka.toml"
    file.write_text('model = "from-file"\nbase_url = "http://file/v1"\n', encoding="utf-8")
    monkeypatch.setenv("XUANKA_CONFIG", str(file))
    monkeypatch.setenv("XUANKA_MODEL", "from-environment")
    settings = Settings()
    assert (settings.model, settings.base_url) == ("from-environment", "http://file/v1")
    assert settings.uses_endpoint
