"""Image models: published rows, names as written, properties."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.errors import BadQuantityError, UnknownModelError, UnsupportedError
from tools.speed import DenoisingJob, ImageJob, denoising_speed, image_model, image_speed
from tools.speed.results import load_data


def job(**changes: object) -> ImageJob:
    base = ImageJob(gpu="V100-SXM2-16GB", model="ResNet-50 v1.5", precision="AMP", batch=256)
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "measured"),
    [
        # DeepLearningExamples and DLPerf
        pytest.param(job(), 1200, id="ResNet-50 AMP, V100"),
        pytest.param(job(precision="FP32", batch=128), 367, id="ResNet-50 FP32, V100"),
        pytest.param(job(gpu="A100-SXM-80GB", precision="TF32"), 938, id="ResNet-50 TF32, A100"),
        # Lambda
        pytest.param(
            job(gpu="RTX 4090", batch=None, global_batch=448), 1301, id="ResNet-50 AMP, 4090"
        ),
        pytest.param(
            job(gpu="H100 80GB SXM5", model="SSD300 R50", batch=448, num_gpus=8,
                interconnect="nvlink"),
            6206, id="SSD300 on 8xH100",
        ),
        # timm benchmark tables, RTX 3090
        pytest.param(
            job(gpu="RTX 3090", model="vit_base_patch16_224", batch=192), 393, id="ViT-B, 3090"
        ),
        pytest.param(
            job(gpu="RTX 3090", model="resnet50", batch=1024, task="infer"), 3219,
            id="ResNet-50 inference, 3090",
        ),
    ],
)  # fmt: skip
def test_published_rows(run: ImageJob, measured: float) -> None:
    speed = image_speed(run).samples_per_s
    assert speed.value == pytest.approx(measured, rel=0.35)
    assert speed.high <= 4 * speed.low


@pytest.mark.parametrize(
    ("written", "row"),
    [
        ("ResNet-50 v1.5", "resnet50"),
        ("timm/resnet50", "resnet50"),
        ("Mask R-CNN R50-FPN 3x", "mask_rcnn_r50_fpn"),
        ("Faster R-CNN X101-FPN 3x", "faster_rcnn_x101_fpn"),
        ("YOLOv5s-seg", "yolov5s"),
        ("YOLOv8m", "yolov8m"),
        ("VGG16", "vgg16"),
        ("tf_efficientnet_b0", "efficientnet_b0"),
        ("ViT-B/16", "vit_base_patch16_224"),
        ("Stable Diffusion v1-5 txt2img 512px", "sd15_unet"),
        ("SSD300 (R50)", "ssd300"),
    ],
)
def test_networks_as_written(written: str, row: str) -> None:
    assert image_model(written).name == row


def test_work_grows_with_the_pixels() -> None:
    small, large = image_model("resnet50", 224), image_model("resnet50", 448)
    assert small.macs == pytest.approx(4.11e9)
    assert large.macs == pytest.approx(4 * small.macs)


def test_unknown_network_needs_a_size() -> None:
    with pytest.raises(UnknownModelError):
        image_model("quuxnet")
    assert image_model("quuxnet", None, 0.0256).macs == pytest.approx(4.11e9, rel=0.01)


def test_small_batches_are_bound_by_the_host() -> None:
    # DeepLearningExamples, inference on T4: 79 images/s at batch 1, 1,165 at 64
    one = image_speed(job(gpu="T4", task="infer", batch=1)).samples_per_s.value
    many = image_speed(job(gpu="T4", task="infer", batch=64)).samples_per_s.value
    assert one == pytest.approx(79, rel=0.35)
    assert many == pytest.approx(1165, rel=0.35)


def test_mixed_precision_gains_as_measured() -> None:
    # V100: 1.4-3.4 times; A100 against TF32: 1.8-2.6 times
    amp, plain = image_speed(job()), image_speed(job(precision="FP32"))
    assert 2 < amp.samples_per_s.value / plain.samples_per_s.value < 4.5


def test_two_machines_on_cloud_ethernet_scale_as_measured() -> None:
    # Alibaba ebmgn6v, 30 Gbit/s: 0.79 for ResNet-50 at batch 256 with Horovod
    one = image_speed(job(num_gpus=8, nodes=1, interconnect="nvlink", precision="AMP + XLA"))
    two = image_speed(
        job(num_gpus=16, nodes=2, interconnect="nvlink", link="30 Gbps VPC TCP",
            precision="AMP + XLA")
    )  # fmt: skip
    efficiency = two.samples_per_s.value / one.samples_per_s.value / 2
    assert efficiency == pytest.approx(0.79, abs=0.12)


def test_figures_trace_to_the_table() -> None:
    speed = image_speed(job())
    ids = {s.id for figure in speed.figures() for s in figure.leaves()}
    assert "data:speed/image_models.json#resnet50" in ids
    assert any(i.startswith("data:speed/vision.json") for i in ids)


def test_impossible_batch_is_refused() -> None:
    with pytest.raises(BadQuantityError):
        image_speed(job(batch=-4))


def test_every_row_of_the_table_is_whole() -> None:
    table = load_data("image_models")
    assert len(table["models"]) > 100
    for name, row in table["models"].items():
        assert row["gmacs"] > 0, name
        assert row["macts"] > 0, name
        assert row["params_m"] > 0, name
    assert set(table["aliases"].values()) <= set(table["models"])


@settings(max_examples=40, deadline=None)
@given(
    gpus=st.integers(1, 16),
    batch=st.integers(1, 512),
    model=st.sampled_from(["resnet50", "vit_base_patch16_224", "mobilenetv3_large_100", "vgg16"]),
)
def test_scaling_is_never_superlinear(gpus: int, batch: int, model: str) -> None:
    one = image_speed(job(model=model, batch=batch))
    many = image_speed(job(model=model, batch=batch, num_gpus=gpus, link="25 Gbps Ethernet"))
    assert many.samples_per_s.value <= one.samples_per_s.value * gpus * 1.0001
    assert 0 < many.scaling <= 1


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("facebook/detr-resnet-50", "detr_r50"),
        ("torchvision/fasterrcnn_resnet50_fpn", "faster_rcnn_r50_fpn"),
        ("ultralytics/yolo11n", "yolo11n"),
        ("YOLOv8 x", "yolov8x"),
        ("ultralytics/yolov5su", "yolov5s"),
        ("timm/efficientnet_b7", "efficientnet_b7"),
        ("resnet-101", "resnet101"),
        ("FLUX.1-dev", "flux1_dev"),
        ("stable-diffusion-3.5-large (mmdit)", "sd35_large"),
        ("SDXL 1.0", "sdxl_unet"),
    ],
)
def test_a_longer_name_wins_over_the_backbone_inside_it(name: str, key: str) -> None:
    assert image_model(name).name == key


def test_a_denoiser_that_is_not_in_the_table_is_refused_and_not_taken_for_a_resnet() -> None:
    with pytest.raises((UnsupportedError, UnknownModelError)):
        image_model("FLUX.2-dev", None, None)


# Published by Ultralytics: ms of one 640 px image, TensorRT in FP16 on a T4 (YOLO11, 12, 26) and
# on an A100 (YOLOv8); none of them was learnt from.
YOLO_MS = [
    ("T4", "yolo11n", 1.5), ("T4", "yolo11s", 2.5), ("T4", "yolo11m", 4.7), ("T4", "yolo11l", 6.2),
    ("T4", "yolo11x", 11.3), ("T4", "yolo12n", 1.64), ("T4", "yolo12l", 6.77),
    ("T4", "yolo26n", 1.7), ("T4", "yolo26x", 11.8), ("A100", "yolov8n", 0.99),
    ("A100", "yolov8m", 1.83), ("A100", "yolov8x", 3.53),
]  # fmt: skip


@pytest.mark.parametrize(("gpu", "model", "published_ms"), YOLO_MS)
def test_published_yolo_latencies_lie_in_the_interval(
    gpu: str, model: str, published_ms: float
) -> None:
    speed = image_speed(
        job(gpu=gpu, model=model, task="infer", batch=1, engine="TensorRT", precision="fp16")
    )
    assert 1e3 / speed.samples_per_s.high < published_ms < 1e3 / speed.samples_per_s.low


def test_an_image_of_sdxl_takes_its_work_over_the_rate() -> None:
    # 30 steps * 2 passes * 2 * 3.381e12 FLOP
    net, work = image_model("sdxl"), 4.057e14
    assert 2 * net.macs * net.usual_steps * 2 == pytest.approx(work, rel=0.01)
    sdxl = ImageJob(gpu="A100 80GB", model="sdxl", task="infer", batch=1, steps=30)
    seconds = 1 / image_speed(sdxl).samples_per_s.value
    assert work / 312e12 < seconds < 5 * work / 312e12


def test_a_diffusion_transformer_is_timed_by_its_tokens() -> None:
    image = image_speed(job(gpu="A100 80GB", model="flux.1-dev", task="infer", batch=1, steps=28))
    direct = denoising_speed(DenoisingJob(gpu="A100 80GB", model="FLUX.1-dev", steps=28))
    assert image.samples_per_s.value == pytest.approx(1 / direct.seconds.value)
    assert {figure.name for figure in image.figures()} >= {"seconds", "samples_per_s"}


def test_one_denoising_step_is_no_usual_number_of_them() -> None:
    def rate(steps: int | None) -> float:
        job = ImageJob(
            gpu="A100 80GB", model="black-forest-labs/FLUX.1-dev", task="infer", steps=steps
        )
        return image_speed(job).samples_per_s.value

    assert rate(None) == pytest.approx(rate(28))  # what its pipeline runs
    assert rate(1) > 1.5 * rate(2) > rate(28)
