from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnsupportedError
from tools.models import find_model, reference_model
from tools.placement import Placement, Task, find_work, managed_services, place
from tools.provenance import Figure
from tools.units import GB, GIB


def codes(found: Placement) -> list[str]:
    return [reason.code for reason in found.reasons]


def every_figure(figures: Iterable[Figure]) -> Iterator[Figure]:
    for figure in figures:
        yield figure
        yield from every_figure(figure.inputs)


def number(found: Placement, name: str) -> float:
    return float(next(f.value for f in every_figure(found.figures()) if f.name == name))


def test_sklearn_needs_no_gpu_because_it_has_no_code_for_one() -> None:
    found = place(Task(action="train", work="sklearn 随机森林"))
    assert found.kind == "cpu"
    assert codes(found)[0] == "library_without_gpu_code"
    assert found.cpu is not None
    assert found.cpu.offer is not None
    assert found.cpu.offer.category == "cpu"
    assert {a.name for a in found.assumptions} == {"rows", "columns"}


def test_a_large_boosting_job_is_faster_and_cheaper_on_a_gpu() -> None:
    # lightgbm-org/LightGBM#3160: 10M x 30, 1,000 rounds: 18 min 37 s on 16 threads, 1 min 57 s
    # on a GTX 1080 Ti; an A10 has 600 / 484 of its bandwidth
    task = Task(
        action="train", work="XGBoost", rows=10_000_000, columns=30, rounds=1000,
        provider="alibaba", region="cn",
    )  # fmt: skip
    found = place(task)
    assert found.kind == "one_gpu"
    assert number(found, "cpu_seconds") == pytest.approx(1117, rel=0.01)
    assert found.gpu is not None
    assert found.gpu.offer is not None
    assert found.gpu.offer.gpu_name == "NVIDIA A10"
    assert number(found, "gpu_seconds") == pytest.approx(117 * 484 / 600 + 10, rel=0.02)
    assert {"faster_on_gpu", "cheaper_on_gpu"} <= set(codes(found))


def test_a_small_boosting_job_ends_in_seconds_on_a_cpu() -> None:
    found = place(Task(action="train", work="lightgbm", rows=50_000, columns=30, rounds=1000))
    assert found.kind == "cpu"
    assert codes(found)[0] == "short_on_cpu"
    assert number(found, "cpu_seconds") < 10


def test_a_50_gb_table_needs_its_memory_in_the_host_first() -> None:
    found = place(Task(action="train", work="xgboost", data_bytes=50 * GB, provider="阿里云"))
    assert number(found, "host_memory") == 125 * GB
    for option in (found.cpu, found.gpu):
        assert option is not None
        assert option.offer is not None
        assert option.offer.memory_gib is not None
        assert option.offer.memory_gib * GIB >= 125 * GB
    assert found.cpu is not None
    assert found.cpu.offer is not None
    assert found.cpu.offer.family.startswith("r")  # 8 GiB per vCPU


def test_a_table_larger_than_the_card_is_not_put_on_it() -> None:
    found = place(Task(action="train", work="xgboost", data_bytes=400 * GB, provider="alibaba"))
    assert found.kind == "cpu"


def test_mnist_trains_on_a_cpu_by_the_measured_epoch() -> None:
    # measured on two busy cores: CNN 289 s, MLP 30.2 s per epoch
    cnn = place(Task(action="train", work="MNIST CNN"))
    mlp = place(Task(action="train", work="MNIST MLP"))
    assert (cnn.kind, mlp.kind) == ("cpu", "cpu")
    assert number(cnn, "cpu_hours") == pytest.approx(289 * 10 / 3600)
    assert number(mlp, "cpu_hours") == pytest.approx(30.2 * 10 / 3600)
    assert any(s.kind == "measured" for r in cnn.reasons for f in r.figures for s in f.leaves())


def test_imagenet_takes_months_on_a_cpu_and_belongs_on_a_gpu() -> None:
    found = place(Task(action="train", work="ResNet50 on ImageNet"))
    assert found.kind == "one_gpu"
    # 3 * 8.2 GFLOP * 1,281,167 images * 90 epochs
    assert number(found, "training_flop") == pytest.approx(2.837e18, rel=0.001)
    assert number(found, "cpu_hours") > 500
    assert number(found, "gpu_hours") < 100


def test_a_small_file_at_a_few_hundred_requests_a_day_runs_on_two_vcpu() -> None:
    task = Task(action="infer", model_bytes=80_000_000, requests_per_s=300 / 86_400,
                provider="alibaba")  # fmt: skip
    found = place(task)
    assert found.kind == "cpu"
    assert found.cpu is not None
    assert found.cpu.vcpu_count == 2
    # 80 MB / 4 B = 20M parameters, 256 FLOP each: 5.12 GFLOP of 2 * 15 GFLOP/s
    assert number(found, "cpu_request_seconds") == pytest.approx(5.12 / 30, rel=0.01)
    assert number(found, "cpu_requests_per_s") > 100 * 300 / 86_400
    assert "cheaper_on_cpu" in codes(found)


def test_the_request_rate_moves_bert_from_a_cpu_to_a_gpu() -> None:
    bert = find_model("bert-base").spec
    slow = place(Task(action="infer", model=bert, requests_per_s=0.2))
    fast = place(Task(action="infer", model=bert, requests_per_s=300))
    assert slow.kind == "cpu"
    assert fast.needs_gpu
    assert number(fast, "vcpu_needed") > 128
    assert fast.gpu is not None
    assert fast.gpu.rate is not None
    assert fast.gpu.rate >= 300


def test_a_tight_latency_excludes_the_cpu() -> None:
    bert = find_model("bert-base").spec
    found = place(Task(action="infer", model=bert, requests_per_s=1, latency_s=0.01))
    assert found.needs_gpu
    assert codes(found)[0] == "cpu_too_slow_per_request"


def test_a_half_billion_model_is_served_on_a_small_cpu() -> None:
    found = place(Task(action="infer", model=find_model("Qwen2.5-0.5B").spec, provider="alibaba"))
    assert found.kind == "cpu"
    assert number(found, "cpu_tokens_per_s") >= number(found, "wanted_tokens_per_s")


def test_7b_on_a_cpu_is_slow_to_start_and_a_gpu_is_cheaper_for_ten_users() -> None:
    model = find_model("Qwen2.5-7B").spec
    found = place(
        Task(action="infer", model=model, concurrency=10, provider="alibaba", region="cn")
    )
    assert found.needs_gpu
    # 2 * 7.6e9 * 512 FLOP at 64 * 15 GFLOP/s
    assert number(found, "cpu_first_token_s") == pytest.approx(8.1, rel=0.02)
    assert found.cpu is not None
    assert found.gpu is not None
    assert found.cpu.per_hour is not None
    assert found.gpu.per_hour is not None
    assert found.gpu.per_hour < found.cpu.per_hour


def test_70b_for_ten_users_on_64_cores_has_the_memory_and_not_the_speed() -> None:
    task = Task(action="infer", model=reference_model(70), concurrency=10, vcpu_count=64)
    found = place(task)
    assert found.needs_gpu
    assert codes(found)[0] == "cpu_too_slow_per_stream"
    # 64 * 15 GFLOP/s over 2 * 70e9 FLOP and ten streams: below one token a second
    assert number(found, "cpu_tokens_per_s") == pytest.approx(0.69, rel=0.05)
    assert number(found, "weights_4bit") == pytest.approx(70e9 * 4.85 / 8, rel=0.03)


@pytest.mark.parametrize("size_b", [0.5, 1.5, 7, 14])
def test_training_a_language_model_never_lands_on_a_cpu(size_b: float) -> None:
    found = place(Task(action="train", params=size_b * 1e9))
    assert found.needs_gpu
    assert codes(found)[0] == "long_on_cpu"
    assert number(found, "cpu_hours") > 10 * number(found, "gpu_hours")


def test_training_that_no_single_machine_holds_goes_to_a_managed_cluster() -> None:
    found = place(Task(action="train", model=find_model("deepseek-r1").spec, method="full"))
    assert found.kind == "managed"
    assert [s.name for s in found.managed] == ["PAI-DLC"]


def test_full_training_of_a_large_model_needs_several_gpus() -> None:
    found = place(Task(action="train", params=14e9, method="full"))
    assert found.kind == "several_gpus"
    assert number(found, "gpus") > 1


def test_a_limit_on_the_answer_sets_the_speed_of_a_stream() -> None:
    model = find_model("Qwen2.5-1.5B").spec
    task = Task(action="infer", model=model, prompt_len=100, output_len=300, latency_s=10)
    found = place(task)
    assert number(found, "wanted_tokens_per_s") == 30
    if found.kind == "cpu":
        assert number(found, "cpu_tokens_per_s") >= 30


def test_training_of_an_encoder_is_placed_though_it_is_no_language_model() -> None:
    found = place(Task(action="train", model=find_model("bert-base").spec, tokens=1e9))
    assert found.needs_gpu
    assert found.gpu is not None


def test_samples_count_as_tokens_and_a_short_job_stays_on_a_cpu() -> None:
    model = find_model("Qwen2.5-0.5B").spec
    tiny = place(Task(action="train", model=model, method="lora", samples=200, seq_len=128))
    # 4 * 0.494e9 * 200 * 128 FLOP at 64 * 15 GFLOP/s: under a minute
    assert number(tiny, "cpu_hours") < 0.05
    assert tiny.kind == "cpu"


def test_a_cloud_without_dated_prices_still_gets_its_place() -> None:
    model = find_model("Qwen2.5-7B").spec
    found = place(Task(action="infer", model=model, provider="tencent", weight_format="bf16"))
    assert found.kind != "managed"
    assert found.recommendation is not None
    assert found.recommendation.offers == ()


def test_a_machine_that_is_there_already_is_judged_as_it_is() -> None:
    task = Task(action="infer", params=3e8, requests_per_s=0.05, vcpu_count=8, latency_s=5)
    found = place(task)
    assert found.kind == "cpu"
    assert number(found, "cpu_request_seconds") == pytest.approx(3e8 * 256 / (8 * 15e9))


def test_a_deadline_moves_a_small_network_to_a_gpu() -> None:
    relaxed = place(Task(action="train", work="cifar10", epochs=1))
    hurried = place(Task(action="train", work="cifar10", epochs=1, deadline_hours=0.02))
    assert relaxed.kind == "cpu"
    assert hurried.needs_gpu


def test_preprocessing_is_bound_by_cores_and_memory() -> None:
    images = place(Task(action="preprocess", samples=1_281_167, vcpu_count=16))
    assert images.kind == "cpu"
    assert number(images, "cpu_seconds") == pytest.approx(1_281_167 / (150 * 16))
    table = place(Task(action="train", work="pandas 数据清洗", data_bytes=100 * GB))
    assert table.kind == "cpu"
    assert number(table, "host_memory") == 250 * GB


@pytest.mark.parametrize(
    ("provider", "action", "name"),
    [
        (None, "train", "PAI-DLC"),
        ("阿里云", "infer", "PAI-EAS"),
        ("aliyun", "notebook", "PAI-DSW"),
        ("aws", "infer", "SageMaker endpoints"),
        ("gcp", "notebook", "Vertex AI"),
    ],
)
def test_the_managed_platform_of_the_provider_is_named(
    provider: str | None, action: str, name: str
) -> None:
    task = Task(action=action, provider=provider, work="MNIST", params=1e7)  # type: ignore[arg-type]
    found = place(task)
    assert name in [s.name for s in found.managed]
    assert all(s.what_en and s.what_zh and s.source for s in managed_services())


def test_notebooks_are_managed() -> None:
    assert place(Task(action="notebook")).kind == "managed"


@settings(max_examples=40, deadline=None)
@given(
    params=st.floats(min_value=1e5, max_value=9e8),
    rate=st.floats(min_value=1e-4, max_value=2000),
    latency=st.floats(min_value=0.005, max_value=10),
)
def test_what_is_placed_on_a_cpu_carries_its_load(
    params: float, rate: float, latency: float
) -> None:
    found = place(Task(action="infer", params=params, requests_per_s=rate, latency_s=latency))
    if found.kind == "cpu" and found.cpu is not None and found.gpu is not None:
        assert number(found, "cpu_requests_per_s") >= rate * 0.99
        assert number(found, "cpu_request_seconds") <= latency
        assert found.cpu.per_hour is not None
        assert found.gpu.per_hour is not None
        machines = -(-rate // max(found.gpu.rate or rate, 1e-9))
        assert found.cpu.per_hour <= float(found.gpu.per_hour) * max(machines, 1) + 1e-9
    if found.needs_gpu:
        assert found.gpu is not None
        assert found.gpu.rate is not None
        assert found.gpu.offer is not None
        cards = number(found, "gpus") if found.kind == "several_gpus" else 1
        machines = cards / (found.gpu.offer.gpu_count or 1) if cards > 1 else 1
        assert found.gpu.rate * machines >= rate * 0.99


@settings(max_examples=10, deadline=None)
@given(st.floats(min_value=1.1, max_value=50))
def test_more_rounds_never_take_less_time(factor: float) -> None:
    one = place(Task(action="train", work="xgboost", rows=100_000, columns=10, rounds=100))
    more = place(
        Task(action="train", work="xgboost", rows=100_000, columns=10, rounds=int(100 * factor))
    )
    assert number(more, "cpu_seconds") >= number(one, "cpu_seconds")


def test_every_figure_has_an_origin() -> None:
    for task in (
        Task(action="train", work="xgboost", rows=10_000_000),
        Task(action="infer", params=1e8, requests_per_s=5),
        Task(action="infer", model=find_model("Qwen2.5-7B").spec),
        Task(action="train", params=7e9),
    ):
        for figure in place(task).figures():
            assert figure.formula or list(figure.leaves())


@pytest.mark.parametrize("field", ["rows", "requests_per_s", "vcpu_count", "latency_s", "params"])
def test_impossible_numbers_are_refused(field: str) -> None:
    with pytest.raises(BadQuantityError, match=field):
        Task(action="train", **{field: 0})


def test_training_of_nothing_says_what_is_missing() -> None:
    with pytest.raises(UnsupportedError, match="size"):
        place(Task(action="train"))


@pytest.mark.parametrize(
    ("written", "kind"),
    [("XGBoost", "trees"), ("我只跑 sklearn", "classic"), ("fashion-mnist", "network"),
     ("特征工程", "preprocess"), ("Qwen2.5-7B", None), (None, None), ("", None)],
)  # fmt: skip
def test_known_work_is_found_by_name(written: str | None, kind: str | None) -> None:
    found = find_work(written)
    assert (found.kind if found else None) == kind


def test_a_vision_model_is_judged_by_its_layers_and_not_by_a_file_of_100_mb() -> None:
    found = place(Task(action="infer", model=find_model("resnet50").spec, requests_per_s=1))
    # 4.11 G multiply-adds at 224 px
    assert number(found, "flop_per_request") == pytest.approx(8.22e9, rel=0.01)
    assert found.kind == "cpu"
    assert "model_bytes" not in {a.name for a in found.assumptions}


def test_one_card_for_sixteen_cameras_and_several_for_sixty_four() -> None:
    def cameras(model: str, count: int) -> Placement:
        spec = find_model(model).spec
        return place(Task(action="infer", model=spec, requests_per_s=25 * count, latency_s=0.2))

    few, many = cameras("yolov8n", 4), cameras("yolov8x", 64)
    assert few.kind in ("one_gpu", "vgpu_slice")
    assert many.kind == "several_gpus"
    assert number(many, "gpus") > 1
    # 64 * 25 * 258 GFLOP a second are far beyond any CPU machine
    assert number(many, "vcpu_needed") > 1000


def test_a_million_documents_take_a_day_on_a_cpu_and_an_hour_on_a_gpu() -> None:
    task = Task(action="infer", model=find_model("bge-m3").spec, samples=1e6, prompt_len=500)
    found = place(task)
    # 302 M weights outside the table, 500 tokens: 0.30 TFLOP a document, 480 GFLOP/s
    assert number(found, "flop_per_request") == pytest.approx(3.1e11, rel=0.05)
    assert number(found, "cpu_hours") > 24
    assert number(found, "gpu_hours") < 5
    assert found.needs_gpu


def test_a_small_pile_stays_on_the_smallest_cpu_that_is_in_time() -> None:
    spec = find_model("bge-small-zh").spec
    found = place(Task(action="infer", model=spec, samples=10_000, prompt_len=200))
    assert found.kind == "cpu"
    assert found.cpu is not None
    assert found.cpu.vcpu_count == 2
    assert number(found, "cpu_hours") < 2


def test_speech_and_images_are_placed_by_their_own_work() -> None:
    speech = place(Task(action="infer", model=find_model("whisper-large-v3").spec, samples=120_000))
    assert speech.needs_gpu
    assert number(speech, "cpu_hours") > number(speech, "gpu_hours") > 1
    image = place(Task(action="infer", model=find_model("sdxl").spec, requests_per_s=0.1))
    assert image.needs_gpu
    assert "steps" in {a.name for a in image.assumptions}


def test_a_vision_model_is_fine_tuned_by_images_and_not_by_tokens() -> None:
    spec = find_model("resnet50").spec
    found = place(Task(action="train", model=spec, samples=10_000, epochs=10))
    # 3 * 8.22 GFLOP * 100,000 images
    assert number(found, "training_flop") == pytest.approx(2.466e15, rel=0.01)
    assert number(found, "gpu_hours") < 0.5
    assert found.needs_gpu


def test_images_and_speech_are_trained_by_their_own_work() -> None:
    sdxl = find_model("sdxl").spec
    image = place(Task(action="train", model=sdxl, samples=1000, epochs=10, method="lora"))
    # 3 * 2 * 3.381e12 multiply-adds (the layers counted at 1,024 pixels) * 10,000 images
    assert number(image, "training_flop") == pytest.approx(2.0286e17, rel=0.01)
    assert image.needs_gpu
    speech = place(Task(action="train", model=find_model("whisper-small").spec, samples=10_000))
    assert speech.needs_gpu
    assert {a.name for a in speech.assumptions} == {"epochs"}


def test_a_video_model_needs_a_gpu_one_clip_after_another() -> None:
    wan = find_model("Wan2.1-T2V-14B").spec
    made = place(Task(action="infer", model=wan))
    assert made.needs_gpu
    assert {a.name: a.value for a in made.assumptions}["requests_per_s"] == pytest.approx(1 / 3600)
    # 2 * 3.2616e15 multiply-adds * 50 steps * 2 passes, in FLOP/s of 16 vCPU: a month for a clip
    assert number(made, "cpu_request_seconds") > 1e6
    assert place(Task(action="train", model=wan)).needs_gpu


def test_a_short_run_goes_where_it_costs_half_and_saves_ten_minutes() -> None:
    bert = find_model("bert-base").spec
    longer = place(Task(action="train", model=bert, samples=10_000, seq_len=128, epochs=3))
    assert longer.needs_gpu
    assert {a.value for a in longer.assumptions if a.name == "method"} == {"full"}
    tiny = place(Task(action="train", model=bert, samples=100, seq_len=128, epochs=1))
    assert tiny.kind == "cpu"
