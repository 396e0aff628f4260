"""Runs inside the throwaway environment: asks one calculator for every row it is given.

    python peer_driver.py NAME < rows.json > answers.json

Standard library and the calculator only. Each row holds explicit shapes, so that no calculator
has to fetch a model. An answer is {"bytes": [...]} with the figures that the calculator offers
(with and without its own fixed overhead), or {"reason": why it cannot answer}.
"""

import json
import sys
import time
import types

GIB = 2**30
MIB = 2**20
GB = 10**9


def vramcalc(row):
    """One estimate of vramcalc, in bytes."""
    from vramcalc import EstimateParams, estimate  # noqa: F401

    if row["quantization"] != "none":
        raise ValueError("no quantised training")
    if row["optimizer"] not in ("adamw", "sgd"):
        raise ValueError(f"no optimizer {row['optimizer']}")
    config = dict(row["config"], model_type=row["family"])
    made = estimate(
        config, mode="train", dtype="bf16", batch=row["batch"], seq_len=row["seq_len"],
        lora_rank=row["rank"], grad_checkpoint=row["checkpointing"], optimizer=row["optimizer"],
        precision="amp" if row["mixed"] else "pure", attn_impl=row["attention"], overhead_gb=0.0,
    )  # fmt: skip
    return [made.total]


def fitcheck(row):
    """One estimate of fitcheck, in bytes: with and without its overhead."""
    from fitcheck import GPU_DB, ModelConfig, TrainingConfig, estimate

    shape = row["config"]
    model = ModelConfig(
        name=row["model"], num_params=row["params"], hidden_size=shape["hidden_size"],
        num_layers=shape["num_hidden_layers"], num_attention_heads=shape["num_attention_heads"],
        num_kv_heads=shape["num_key_value_heads"], intermediate_size=shape["intermediate_size"],
        vocab_size=shape["vocab_size"], head_dim=shape["head_dim"],
        tie_word_embeddings=shape["tie_word_embeddings"],
    )  # fmt: skip
    names = {"none": "none", "nf4": "nf4"}
    if row["quantization"] not in names:
        raise ValueError(f"no format {row['quantization']}")
    training = TrainingConfig(
        precision="bf16", quantization=names[row["quantization"]],
        double_quant=row["double_quant"],
        optimizer={"adamw": "adamw", "sgd": "sgd"}.get(row["optimizer"], "adamw_8bit"),
        batch_size=row["batch"], seq_len=row["seq_len"], lora_rank=row["rank"],
        lora_targets=row["targets"], grad_checkpoint=row["checkpointing"],
        flash_attn=row["attention"] != "eager",
    )  # fmt: skip
    made = estimate(model, training, GPU_DB["t4"])
    return [made.total_mib * MIB, (made.total_mib - made.overhead_mib) * MIB]


def canifinetune(row):
    """One estimate of canifinetune, in bytes: with and without context and margin."""
    from canifinetune.estimator.memory import EstimateRequest, estimate

    optimizers = {"adamw": "adamw_torch", "paged-adamw-8bit": "paged_adamw_8bit"}
    shape = dict(row["config"], family=row["family"], total_params=row["params"])
    request = EstimateRequest(
        model_id=row["model"], method=row["method"], seq_len=row["seq_len"],
        micro_batch_size=row["batch"], base_dtype="fp32" if row["mixed"] else "bf16",
        quantization="nf4_double_quant" if row["double_quant"] else "nf4",
        lora_rank=row["rank"] or 16, target_modules=row["targets"] or None,
        optimizer=optimizers.get(row["optimizer"], row["optimizer"].replace("-", "_")),
        gradient_checkpointing=row["checkpointing"], gpu_vram_gb=80.0, override=shape,
        attention_implementation=row["attention"], use_network=False,
    )  # fmt: skip
    made = estimate(request).memory
    bare = made.total_estimated_gb - made.cuda_overhead_gb - made.safety_margin_gb
    return [made.total_estimated_gb * GIB, bare * GIB]


def ftuneai(row):
    """One estimate of ftuneai, in bytes: with and without its overhead."""
    from ftuneai.core.memory import MemoryEstimator
    from ftuneai.core.models import (
        FineTuneMethod,
        LoRATarget,
        ModelSpec,
        OptimizerType,
        Quantization,
        TrainingConfig,
    )

    shape = row["config"]
    model = ModelSpec(
        name=row["model"], parameters=row["params"], hidden_size=shape["hidden_size"],
        num_layers=shape["num_hidden_layers"], num_attention_heads=shape["num_attention_heads"],
        num_kv_heads=shape["num_key_value_heads"], intermediate_size=shape["intermediate_size"],
        vocab_size=shape["vocab_size"], max_seq_length=1 << 20,
        default_dtype="float32" if row["mixed"] else "bfloat16",
    )  # fmt: skip
    optimizers = {"adamw": "adamw", "sgd": "sgd", "adafactor": "adafactor"}
    targets = {2: LoRATarget.ATTENTION, 4: LoRATarget.ATTENTION_ALL}
    config = TrainingConfig(
        model=row["model"], method=FineTuneMethod(row["method"]),
        quantization=Quantization.INT4 if row["quantization"] == "nf4" else Quantization.NONE,
        batch_size=row["batch"], seq_length=row["seq_len"],
        gradient_checkpointing=row["checkpointing"],
        optimizer=OptimizerType(optimizers.get(row["optimizer"], "adam_8bit")),
        lora_rank=row["rank"] or 16,
        lora_target=targets.get(len(row["targets"]), LoRATarget.ALL_LINEAR),
        flash_attention=row["attention"] != "eager",
    )  # fmt: skip
    made = MemoryEstimator(model, config).estimate()
    scale = GIB
    return [made.total_gb * scale, (made.total_gb - made.overhead_gb) * scale]


def hf_vram_calc(row):
    """One estimate of hf-vram-calc, in bytes; its imports of torch are only for counting."""
    for name in ("torch", "accelerate", "transformers", "requests"):
        if name not in sys.modules:
            module = types.ModuleType(name)
            module.__getattr__ = lambda attribute: type(attribute, (), {})
            sys.modules[name] = module
    from hf_vram_calc.calculator import VRAMCalculator
    from hf_vram_calc.config import ConfigManager

    calculator = VRAMCalculator(ConfigManager())
    dtype = "fp32" if row["mixed"] else "bf16"
    if row["quantization"] == "nf4":
        dtype = "int4"
    weights = calculator.calculate_model_memory(row["params"], dtype)
    if row["method"] == "full":
        return [calculator.calculate_training_memory(weights) * GIB]
    hidden = row["config"]["hidden_size"]
    made = calculator.calculate_lora_memory(
        weights, row["params"], lora_rank=row["rank"], original_dim=hidden
    )
    return [made * GIB]


PEERS = {
    "vramcalc": vramcalc,
    "fitcheck-llm": fitcheck,
    "canifinetune": canifinetune,
    "ftuneai": ftuneai,
    "hf-vram-calc": hf_vram_calc,
}


def main():
    """Answers every row; the time is the best of five warm calls."""
    ask = PEERS[sys.argv[1]]
    answers = []
    for row in json.load(sys.stdin):
        try:
            ask(row)
            times = []
            for _ in range(5):
                started = time.perf_counter()
                figures = ask(row)
                times.append((time.perf_counter() - started) * 1e6)
            answers.append({"bytes": figures, "us": min(times)})
        except Exception as error:  # a peer's refusal, of whatever class, is its answer
            answers.append({"reason": f"{type(error).__name__}: {error}"[:200]})
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
