"""The scorers, their traps, and their agreement with the reference rules."""

from __future__ import annotations

import importlib.util
import random
from types import ModuleType
from typing import Any

import pytest

from evals.scorers import memory, questions, retrieval, speed
from evals.scorers.text import claims, says
from tests.helpers import shared_file

SAME_NEVER = lambda slot, a, b: False  # noqa: E731


@pytest.fixture(scope="module")
def rules() -> ModuleType:
    path = shared_file("cases/scoring.py")
    spec = importlib.util.spec_from_file_location("reference_scoring", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        ("needs 25 GiB", "5", False),
        ("needs 25 GiB", "25", True),
        ("needs 24.96 GiB", "25", True),
        ("needs 24.4 GiB", "25", False),
        ("c8g1.2xlarge", "8", False),
        ("an A100", "A10", False),
        ("an A10 card", "A10", True),
        ("gn7i", "gn", True),
        ("2,048 tokens", "2048", True),
        ("2x24GB", "2", True),
        ("8xlarge", "8", False),
        ("大约 7 小时", "7", True),
        ("V100", "100", False),
    ],
)
def test_says_minds_numbers_and_short_words(text: str, phrase: str, expected: bool) -> None:
    assert says(text, phrase) is expected


PIECES = (
    "24 GiB|24GB|2x24|2×24GB|c8g1.2xlarge|A10|A100|NVLink|没有 NVLink|gn7i|24.96|1,024|"
    "0.5|—|V100|7B|70B|QLoRA|bf16|不|显存|8xlarge|12.|p4d.24xlarge|fp8|x.|3.50"
).split("|")


def test_says_agrees_with_the_reference_rules_on_synthetic_text(rules: ModuleType) -> None:
    chooser = random.Random(20261130)
    phrases = [
        "24",
        "25",
        "2",
        "8",
        "1024",
        "0.5",
        "A10",
        "gn",
        "fp8",
        "NVLink",
        "7",
        "70",
        "3.5",
        "x",
    ]
    seen = {True: 0, False: 0}
    for _ in range(3000):
        text = chooser.choice([" ", ""]).join(chooser.choices(PIECES, k=chooser.randint(1, 8)))
        phrase = chooser.choice(phrases)
        expected = rules.hit(text, phrase)
        seen[expected] += 1
        assert says(text, phrase) is expected, (text, phrase)
    assert min(seen.values()) > 200


@pytest.mark.parametrize(
    ("text", "statement", "expected"),
    [
        ("The A10 has no NVLink.", "NVLink", False),
        ("A10 不支持 NVLink。", "支持 NVLink", False),
        ("The A100 has NVLink.", "has NVLink", True),
        ("T4 支持 bf16。", "T4 支持 bf16", True),
        ("并不是 T4 支持 bf16。", "T4 支持 bf16", False),
        ("It is false that it fits, and it needs 30 GiB", "it fits", False),
        ("", "fits", False),
    ],
)
def test_claims_minds_negation(text: str, statement: str, expected: bool) -> None:
    assert claims(text, statement) is expected


def an_answer(**changes: Any) -> dict[str, Any]:
    answer = {
        "language": "en",
        "intent": "fit_check",
        "text": "It does not fit: 30 GiB against 21.95 GiB.",
        "verdict": "does_not_fit",
        "memory": {"scope": "per_gpu", "low_bytes": 29 * 10**9, "high_bytes": 34 * 10**9},
        "request": {"gpu": "A10", "gpu_count": 1},
        "corrections": [],
        "clarifying_question": None,
    }
    return {**answer, **changes}


def a_row(**changes: Any) -> dict[str, Any]:
    row = {
        "id": "x",
        "lang": "en",
        "question": "q",
        "turns": [],
        "slots": {"gpu": "A10"},
        "truth": {
            "verdict_accept": ["does_not_fit"],
            "must_mention": [["30", "thirty"]],
            "must_not_claim": [],
            "memory_range_gb": [28, 33],
            "memory_scope": "per_gpu",
        },
        "turns_truth": [],
        "expected_behavior": ["answer"],
        "intent_accept": ["fit_check"],
    }
    return {**row, **changes}


def passes(row: dict[str, Any], answer: dict[str, Any] | None) -> bool:
    scores = questions.judge(row, [answer], SAME_NEVER)
    return not any(s.is_failure for s in scores)


def test_good_answer_passes() -> None:
    assert passes(a_row(), an_answer())


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": "fits"},
        {"language": "zh"},
        {"text": "x" * 2501 + " 30 GiB"},
        {"text": "It does not fit."},
        {"memory": None},
        {"memory": {"scope": "per_gpu", "low_bytes": 10**9, "high_bytes": 40 * 10**9}},
        {"memory": {"scope": "per_gpu", "low_bytes": 40 * 10**9, "high_bytes": 44 * 10**9}},
        {"memory": {"scope": "host_ram", "low_bytes": 29 * 10**9, "high_bytes": 33 * 10**9}},
        {"_orphan_numbers": ["12 GiB"]},
    ],
    ids=lambda c: next(iter(c)),
)
def test_each_fault_of_an_answer_fails_the_case(changes: dict[str, Any]) -> None:
    assert not passes(a_row(), an_answer(**changes))


def test_missing_answer_fails() -> None:
    assert not passes(a_row(), None)


@pytest.mark.parametrize(
    ("behaviour", "changes", "expected"),
    [
        ("correct_premise", {}, False),
        ("correct_premise", {"corrections": [{"premise": "p", "fact": "f", "source": "s"}]}, True),
        ("ask_one_question", {}, False),
        ("ask_one_question", {"clarifying_question": "Which?"}, True),
        ("refuse_or_redirect", {}, False),
        ("refuse_or_redirect", {"intent": "out_of_scope"}, True),
        ("validate_input", {"intent": "concept"}, False),
        ("validate_input", {"intent": "invalid_input"}, True),
    ],
)
def test_behaviour(behaviour: str, changes: dict[str, Any], expected: bool) -> None:
    assert passes(a_row(expected_behavior=[behaviour]), an_answer(**changes)) is expected


def test_figure_on_an_impossible_value_fails() -> None:
    truth = {"verdict_accept": ["not_applicable"], "must_mention": [], "must_not_claim": []}
    row = a_row(truth=truth, expected_behavior=["validate_input"])
    bad = an_answer(intent="invalid_input", verdict="not_applicable")
    assert not passes(row, bad)
    assert passes(row, {**bad, "memory": None})


def test_question_rules_agree_with_the_reference_on_changed_answers(rules: ModuleType) -> None:
    chooser = random.Random(7)
    row_choices = [
        a_row(),
        a_row(expected_behavior=["correct_premise"]),
        a_row(expected_behavior=["validate_input"], truth={"verdict_accept": ["not_applicable"]}),
        a_row(
            truth={
                "verdict_accept": ["fits", "tight"],
                "memory_range_gb": [50, 70],
                "memory_scope": "total",
            }
        ),
    ]
    seen = {True: 0, False: 0}
    for _ in range(2000):
        row = chooser.choice(row_choices)
        low = chooser.choice([5, 20, 28, 31, 60]) * 10**9
        answer = an_answer(
            verdict=chooser.choice(["fits", "tight", "does_not_fit", "depends", "not_applicable"]),
            language=chooser.choice(["en", "en", "zh"]),
            intent=chooser.choice(["fit_check", "invalid_input", "concept"]),
            memory=chooser.choice(
                [
                    None,
                    {
                        "scope": chooser.choice(["per_gpu", "total", "host_ram"]),
                        "low_bytes": low,
                        "high_bytes": int(low * chooser.choice([1.0, 1.2, 2.9, 3.2])),
                    },
                ]
            ),
            request={"gpu_count": chooser.choice([None, 1, 2, 4])},
            corrections=chooser.choice([[], [{"premise": "", "fact": "", "source": ""}]]),
        )
        expected = not rules.judge_turn(row, 0, answer)
        seen[expected] += 1
        assert passes(row, answer) is expected, (row, answer)
    assert min(seen.values()) > 50


def test_slot_counts_penalise_invented_slots_only() -> None:
    row = a_row(slots={"gpu": "A10", "batch": 4})
    answer = an_answer(request={"gpu": "a10", "batch": 8, "gpu_count": 1, "provider": "aws"})
    assert questions.slot_counts(row, answer, SAME_NEVER) == (1, 3, 2)


def test_memory_error_uses_the_counter_and_both_units_when_unknown() -> None:
    row = {"counter": "reserved", "measured_gb": 10.0, "unit": "unknown"}
    assert memory.relative_error(row, {"reserved_bytes": 10 * 2**30}) == 0
    assert memory.relative_error(row, {"reserved_bytes": 10 * 10**9}) == 0
    assert memory.relative_error(row, {"allocated_bytes": 10 * 10**9}) is None


def test_memory_sum_over_gpus_multiplies_the_estimate() -> None:
    row = {
        "counter": "allocated",
        "measured_gb": 40.0,
        "unit": "GiB",
        "measured_scope": "sum_over_gpus",
        "num_gpus": 4,
    }
    assert memory.relative_error(row, {"allocated_bytes": 10 * 2**30}) == 0


@pytest.mark.parametrize(
    ("truth", "given", "points"),
    [
        ("oom", "does_not_fit", 1.0),
        ("oom", "tight", 0.5),
        ("oom", "fits", 0.0),
        ("fits", "tight", 1.0),
        ("fits", "does_not_fit", 0.0),
        ("fits", "depends", None),
    ],
)
def test_verdict_points(truth: str, given: str, points: float | None) -> None:
    assert memory.verdict_points({"verdict": truth}, {"verdict": given}) == points


def test_memory_interval_width_depends_on_completeness() -> None:
    row: dict[str, Any] = {"measured_gb": 10.0, "unit": "GB", "counter": "process"}
    wide = {"low_bytes": 8 * 10**9, "high_bytes": 15 * 10**9}
    assert memory.interval_holds(row, wide)
    full = dict.fromkeys(
        [
            "precision",
            "quantization",
            "optimizer",
            "micro_batch_size",
            "seq_len",
            "gradient_checkpointing",
        ],
        1,
    )
    assert not memory.interval_holds({**row, **full}, wide)


def test_truth_never_reaches_the_calculator(rules: ModuleType) -> None:
    row = {
        "id": "a",
        "verdict": "fits",
        "measured_gb": 3,
        "peak_bytes": 5,
        "extra": {"process_gib": 4, "x": 1},
    }
    assert memory.without_truth(row) == {"id": "a", "extra": {"x": 1}} == rules.without_truth(row)


def test_retrieval_counts_five_passages_and_refuses_overloaded_ones() -> None:
    row = {"gold_claims": ["1.1"], "also_ok": ["1.2"], "kind": "paraphrase"}
    overloaded = {"claims": ["1.1", "a", "b", "c", "d", "e"]}
    assert retrieval.rank_of_hit(row, [overloaded, {"claims": ["1.2"]}]) == 2
    assert retrieval.rank_of_hit(row, [{"claims": []}] * 5 + [{"claims": ["1.1"]}]) is None


def test_off_corpus_query_must_return_nothing() -> None:
    row = {"kind": "off_corpus"}
    assert retrieval.judge(row, [])[0].value is True
    assert retrieval.judge(row, [{"passage_id": "p"}])[0].value is False


def test_speed_picks_the_quantity_the_row_measures() -> None:
    assert speed.truth({"tok_s_gpu": 5, "decode_tok_s": 9}) == ("tokens_per_s_per_gpu", 5.0)
    assert speed.truth({"decode_tok_s": 9}) == ("decode_tokens_per_s", 9.0)
    row = {"task": "vision", "unit": "images/s", "measured": 80}
    assert speed.truth(row) == ("samples_per_s", 80.0)
    assert speed.truth({**row, "task": "diffusion"}) is None
    assert speed.truth({"tok_s_gpu": 5, "confidence": "low"}) is None


def test_speed_interval_wider_than_four_times_does_not_count() -> None:
    row = {"tok_s_gpu": 100.0}
    given = {"status": "ok", "tokens_per_s_per_gpu": 100.0, "low": 20.0, "high": 100.0}
    held = {s.name: s.value for s in speed.judge(row, given)}
    assert held["interval"] == 0.0
    held = {s.name: s.value for s in speed.judge(row, {**given, "low": 50.0})}
    assert held["interval"] == 1.0


GIB_4 = 4 * 2**30


def a_memory_row(chooser: random.Random) -> dict[str, Any]:
    """A row of a published run with some of its fields left open."""

    def maybe(value: Any) -> Any:
        return value if chooser.random() < 0.75 else None

    serving = {"engine": "vllm", "weight_format": "bf16", "batch": maybe(1)} | {
        "context_len": maybe(4096), "kv_dtype": maybe("bf16"),
    }  # fmt: skip
    training = {
        "precision": maybe("bf16-mixed"), "quantization": maybe("none"), "seq_len": maybe(2048),
        "optimizer": maybe("adamw"), "micro_batch_size": maybe(2), "gradient_checkpointing": "full",
    }  # fmt: skip
    return {
        "id": "r",
        "measured_gb": maybe(round(chooser.uniform(2, 8), 2)),
        "unit": chooser.choice(["GiB", "GB", "unknown", None]),
        "counter": chooser.choice(
            ["allocated", "reserved", "process", "weights", "kv_cache", "unknown", None]
        ),
        "measured_scope": chooser.choice(["per_gpu", "sum_over_gpus", None]),
        "num_gpus": chooser.choice([None, 1, 2, 4]),
        **chooser.choice([serving, training]),
    }


def test_memory_rules_agree_with_the_reference_on_synthetic_rows(rules: ModuleType) -> None:
    chooser = random.Random(5)
    held = {True: 0, False: 0}
    for _ in range(2000):
        row = a_memory_row(chooser)
        keys = ("allocated", "reserved", "process", "weights", "kv_cache")
        out: dict[str, Any] = {f"{k}_bytes": int(GIB_4 * chooser.uniform(0.5, 2)) for k in keys}
        if chooser.random() < 0.1:
            del out["reserved_bytes"]
        low = GIB_4 * chooser.uniform(0.5, 1.5)
        out |= {"low_bytes": int(low), "high_bytes": int(low * chooser.uniform(1.0, 2.4))}
        assert memory.relative_error(row, out) == pytest.approx(rules.memory_error(row, out))
        assert memory.truths(row) == rules.memory_truths(row)
        assert memory.is_complete(row) == rules.is_complete(row)
        assert memory.interval_holds(row, out) == rules.interval_holds(row, out)
        held[memory.interval_holds(row, out)] += 1
    assert min(held.values()) > 50


SLOT_VALUES: dict[str, list[Any]] = {
    "model": ["Qwen2.5-7B", "qwen2.5-7b", "Qwen/Qwen2.5-7B", "Llama-3.1-8B", ["Qwen2.5-7B"]],
    "params_b": [7, 7.6, 8.5, 70],
    "gpu": ["A10", "NVIDIA A10", "a100", ["A10", "A100"], ["A100", "A10"]],
    "gpu_count": [1, 2, 8],
    "method": ["lora", "qlora", "full"],
    "quantization": ["q4", "q4_k_m", "nf4", ""],
    "instance": ["ecs.gn7i-c8g1.2xlarge", "gn7i-c8g1.2xlarge", "ml.g5.xlarge", "g5.xlarge"],
    "provider": ["alibaba", "aliyun", "阿里云", "aws"],
    "framework": ["vllm", "vLLM", []],
    "batch": [1, 1.0, 4],
    "budget": [100, 200],
}


def test_slot_rules_agree_with_the_reference_on_synthetic_requests(rules: ModuleType) -> None:
    from evals.suites import same_registry_row

    chooser = random.Random(9)
    some_right = 0
    for _ in range(1500):
        wanted, given = (
            {k: chooser.choice(v) for k, v in SLOT_VALUES.items() if chooser.random() < 0.6}
            for _ in range(2)
        )
        row, answer = {"slots": wanted}, {"request": given}
        ours = questions.slot_counts(row, answer, same_registry_row)
        assert ours == rules.slots_counts(row, answer), (wanted, given)
        some_right += ours[0] > 0
    assert some_right > 500


def test_memory_interval_of_an_answer_agrees_with_the_reference(rules: ModuleType) -> None:
    chooser = random.Random(3)
    seen = {True: 0, False: 0}
    for _ in range(2000):
        truth = {
            "memory_range_gb": sorted(chooser.uniform(4, 60) for _ in range(2)),
            "memory_scope": chooser.choice(["per_gpu", "total", "host_ram", None]),
        }
        low = chooser.uniform(0, 60) * 1e9
        memory_given = {
            "scope": chooser.choice(["per_gpu", "total", "host_ram"]),
            "low_bytes": low,
            "high_bytes": low * chooser.uniform(0.9, 3.5),
        }
        answer = {"memory": chooser.choice([memory_given] * 9 + [None])}
        answer |= {"request": {"gpu_count": chooser.choice([None, 1, 4, "8"])}}
        expected = not rules._judge_memory(truth, answer)
        assert (questions.judge_memory(truth, answer).value is True) is expected, (truth, answer)
        seen[expected] += 1
    assert min(seen.values()) > 100
