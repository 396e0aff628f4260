"""Size of the KV cache, from a model or its config.json, and a cache too small at start-up."""

from __future__ import annotations

import pytest

from agent import ungrounded
from agent.answer import Answer
from agent.understanding import parse
from tests.agent.answers import answer, answered

CONFIG = (
    '{"architectures":["LlamaForCausalLM"],"hidden_size":4096,"num_hidden_layers":40,'
    '"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"vocab_size":64000,'
    '"torch_dtype":"bfloat16"}'
)
STARTUP = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (24.0 GiB "
    "KV cache is needed, which is larger than the available KV cache memory (11.38 GiB). Based on "
    "the available memory, the estimated maximum model length is 62144."
)


def _figure(answer: Answer, name: str) -> float:
    return next(float(f.value) for f in answer.figures if f.name == name)


@pytest.mark.parametrize(
    ("question", "each", "total"),
    [
        # 2 * 64 layers * 8 KV heads * 128 * 2 B; times 200,000
        ("kv cache 每个token占多少 qwen2.5-32b bf16 顺便算下20万token", 262_144, 52_428_800_000),
        # 2 * 80 * 8 * 128 * 2 B; times 32,768
        ("Llama-3.1-70B KV cache size at 32k with 8 users?", 327_680, 10_737_418_240),
        # 2 * 40 * 4 * 128 * 2 B; times 64,000
        (CONFIG + "\nhow big is the kv cache for 64k tokens", 81_920, 5_242_880_000),
        # MLA: 61 layers * (512 + 64), one byte each
        ("DeepSeek-V3 kv cache per token in fp8", 35_136, None),
    ],
)
def test_the_cache_is_the_product_of_its_shape(
    question: str, each: float, total: float | None
) -> None:
    answer, _ = answered(question)
    assert _figure(answer, "kv_bytes_per_token") == each
    if total is not None:
        assert _figure(answer, "kv_bytes") == total
    assert answer.verdict == "not_applicable"
    assert not ungrounded(answer)


def test_a_card_that_is_to_hold_it_keeps_the_fit_answer() -> None:
    answer, _ = answered("Qwen2.5-7B 8k 上下文 10 并发 KV 缓存占多少 A10 放得下吗")
    assert answer.memory is not None


def test_a_start_up_error_names_the_longest_context_and_the_ways_to_more() -> None:
    """24 GiB / 131,072 tokens is 196,608 B a token; 11.38 GiB hold 62,144 of them."""
    answer, _ = answered(STARTUP + "\nqwen2.5-14b 单卡L20 怎么改")
    assert _figure(answer, "longest") == 62_144
    assert _figure(answer, "kv_bytes_per_token") == pytest.approx(196_608)
    for told in ("62144", "--max-model-len 61440", "fp8", "AWQ", "--tensor-parallel-size 2"):
        assert told in answer.text
    assert not ungrounded(answer, question=STARTUP)


def test_a_latent_is_kept_whole_on_every_card_of_a_tensor_parallel_group() -> None:
    """DeepSeek-V3: 61 layers * (512 + 64) * 2 B = 70,272 B a token, on each of 8 cards."""
    told, _ = answered("DeepSeek-V3 每个 token 的 KV cache 多大,TP=8 时每张卡放多少?")
    assert "70,272" in told.text
    assert "各存一份" in told.text
    assert "按 KV 头分到各卡" not in told.text


def test_heads_are_split_over_a_tensor_parallel_group() -> None:
    """Llama-3-70B: 80 layers * 2 * 128 * 2 B = 40,960 B a head; 8 heads over 4 cards are 2."""
    told, _ = answered("Llama-3-70B KV cache per token with TP=4 on each card?")
    assert "81,920" in told.text


@pytest.mark.parametrize(
    "question",
    [
        "Mistral-7B fp16, 24k context on a 3090: how much KV cache, and does it fit?",
        "3090 上 Mistral-7B fp16 开 24k 上下文,KV 缓存要多少,放得下吗",
    ],
)
def test_the_cache_leads_where_a_card_is_to_hold_the_model_too(question: str) -> None:
    # 2 * 32 layers * 8 heads * 128 * 2 B = 128 KiB a token; 24576 tokens are 3 GiB
    found = answer(question)
    first, _, rest = found.text.partition("\n\n")
    assert "131,072" in first
    # every layer slides: of 24576 tokens the last 4096 are kept, 0.5 GiB
    assert "0.5 GiB" in rest.split("\n\n")[0]
    assert found.verdict == "fits"


def test_bytes_of_a_token_of_a_named_size_are_no_active_parameters() -> None:
    assert parse("KV cache of Yi-1.5-9B per token?").slots.model is not None


def test_layers_with_a_window_keep_no_more_than_it() -> None:
    # 12 of 24 layers keep 128 tokens: 49152 B * (65536 / 2 + 128 / 2) = 1.503 GiB
    found = answer("gpt-oss-20b 64k kv cache size?")
    assert _figure(found, "kv_bytes") == pytest.approx(49152 * (65536 / 2 + 64))
