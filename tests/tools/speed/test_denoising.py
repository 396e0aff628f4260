"""Diffusion transformers: work counted by hand, published seconds, and what may not happen."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnknownModelError
from tools.memory.other import fill, forms
from tools.speed import DenoisingJob, denoising_speed, find_denoiser
from tools.speed.results import load_data

RUNS: list[dict[str, Any]] = load_data("published_denoising")["runs"]


# Multiply-adds of one pass, counted by torch.utils.flop_counter on diffusers 0.42 (meta device).
@pytest.mark.parametrize(
    ("name", "tera_macs"),
    [
        ("black-forest-labs/FLUX.1-dev", 37.192),
        ("stable-diffusion-3-medium", 4.452),
        ("SD 3.5 large", 15.561),
        ("stable-diffusion-3.5-medium", 5.625),
        ("HunyuanVideo", 6034.296),
        ("Wan2.1-T2V-14B", 3261.718),
        ("Wan2.2-TI2V-5B", 258.504),
        ("THUDM/CogVideoX-2b", 59.999),
        ("CogVideoX-5B", 166.099),
    ],
)
def test_work_of_a_pass_equals_the_counted_one(name: str, tera_macs: float) -> None:
    net = find_denoiser(name)
    assert net is not None
    assert net.macs() / 1e12 == pytest.approx(tera_macs, rel=0.002)


def test_attention_by_hand() -> None:
    # Wan 14B at 832 x 480 x 81: 52 * 30 * 21 tokens; 2 * n (n + 512) * 5120 * 40
    net = find_denoiser("wan 2.1 14b")
    assert net is not None
    tokens = net.tokens(832, 480, 81)
    assert tokens == 32_760
    assert net.attention_macs(tokens) == 2 * 32_760 * (32_760 + 512) * 5120 * 40


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run['model']}-{run['gpu']}-{run['px']}")
def test_published_seconds_lie_in_the_interval(run: dict[str, Any]) -> None:
    speed = denoising_speed(
        DenoisingJob(
            gpu=run["gpu"],
            model=run["model"],
            steps=run["steps"],
            image_px=run["px"],
            frames=run["frames"],
            engine=run["engine"],
        )
    )
    assert speed.seconds.low < run["seconds"] < speed.seconds.high
    assert speed.seconds.high <= 4 * speed.seconds.low
    assert run["source"]


@pytest.mark.parametrize(
    ("written", "row"),
    [
        ("FLUX schnell", "flux1_schnell"),
        ("flux.2-klein-4B", "flux2_klein_4b"),
        ("Wan-AI/Wan2.1-T2V-1.3B (transformer)", "wan21_t2v_1_3b"),
        ("Wan2.2-I2V-A14B", "wan21_t2v_14b"),
        ("混元视频", "hunyuan_video"),
        ("CogVideoX1.5-5B", "cogvideox15_5b"),
        ("stabilityai/stable-diffusion-3.5-large (mmdit)", "sd35_large"),
        ("Qwen-Image", "qwen_image"),
    ],
)
def test_spellings(written: str, row: str) -> None:
    net = find_denoiser(written)
    assert net is not None
    assert net.name == row


@pytest.mark.parametrize("written", ["sdxl", "stable diffusion 1.5", "FLUX.2-dev", "resnet50"])
def test_other_models_are_not_taken_for_one(written: str) -> None:
    assert find_denoiser(written) is None


def test_defaults_are_reported_and_bad_input_is_refused() -> None:
    speed = denoising_speed(DenoisingJob(gpu="H100 SXM", model="Wan2.1-T2V-14B"))
    assert {a.name for a in speed.assumptions} == {"denoising_steps", "size", "frames", "passes"}
    assert speed.item == "video"
    with pytest.raises(BadQuantityError):
        denoising_speed(DenoisingJob(gpu="H100 SXM", model="FLUX.1-dev", steps=0))
    with pytest.raises(UnknownModelError):
        denoising_speed(DenoisingJob(gpu="H100 SXM", model="resnet50"))


@settings(max_examples=40, deadline=None)
@given(
    model=st.sampled_from(["FLUX.1-dev", "Wan2.1-T2V-14B", "SD 3.5 medium", "HunyuanVideo"]),
    px=st.sampled_from([256, 480, 512, 720, 1024]),
    steps=st.integers(2, 60),
)
def test_more_pixels_or_steps_never_take_less(model: str, px: int, steps: int) -> None:
    def seconds(image_px: int = px, count: int = steps) -> float:
        job = DenoisingJob(gpu="A100 80GB", model=model, image_px=image_px, steps=count)
        return denoising_speed(job).seconds.value

    assert seconds(image_px=px * 2) > seconds()
    assert seconds(count=steps + 1) > seconds()


def test_a_card_in_8_bit_is_faster_only_where_it_has_the_units() -> None:
    def seconds(gpu: str, precision: str) -> float:
        job = DenoisingJob(gpu=gpu, model="FLUX.1-dev", precision=precision)
        return denoising_speed(job).seconds.value

    assert seconds("RTX 4090", "fp8") < seconds("RTX 4090", "bf16")
    assert seconds("A100 80GB", "fp8") == seconds("A100 80GB", "bf16")


# HunyuanVideo at 1280 x 720 x 129, 50 steps, shared by sequence parallelism (xDiT's table)
@pytest.mark.parametrize(
    ("gpu", "cards", "published_s"),
    [("H100 SXM", 2, 925), ("H100 SXM", 4, 514), ("H100 SXM", 8, 338), ("H20 96GB", 8, 941),
     ("L20", 2, 3271), ("L20", 4, 2080)],
)  # fmt: skip
def test_cards_that_share_a_video(gpu: str, cards: int, published_s: float) -> None:
    speed = denoising_speed(DenoisingJob(gpu=gpu, model="HunyuanVideo", num_gpus=cards))
    assert speed.shared_s.low < published_s < speed.shared_s.high
    assert speed.seconds.value / cards < speed.shared_s.value < speed.seconds.value
    assert speed.link == ("pcie" if gpu == "L20" else "nvlink")


def test_bytes_of_weights_and_activations_follow_the_precision() -> None:
    def parts(precision: str) -> dict[str, float]:
        job = DenoisingJob(gpu="H100 SXM", model="FLUX.1-dev", precision=precision)
        return denoising_speed(job).parts

    half, full, eighth = parts("bf16"), parts("fp32"), parts("fp8")
    assert full["weights"] == pytest.approx(2 * half["weights"])
    assert full["elementwise"] == pytest.approx(2 * half["elementwise"])
    assert eighth["weights"] == pytest.approx(half["weights"] / 2)
    assert eighth["elementwise"] == half["elementwise"]


def test_the_memory_room_folds_and_counts_the_frames_of_the_same_clips() -> None:
    """Two rooms hold a clip each: memory its pipeline's default, speed its publisher's."""
    seen = 0
    for name, row in forms.table("pipelines").items():
        net = find_denoiser(name.removesuffix(" (transformer)")) if row.get("frames") else None
        if net is None:
            continue
        seen += 1
        assert net.frames == row["frames"], name
        assert net.frame_ratio == fill._LATENT_FRAMES, name
    assert seen >= 7
