"""Values that were not said: the framework's default, else a common one, each with its reason."""

from __future__ import annotations

from tools.provenance import Assumption

SEQ_LEN = 1024
CONTEXT_LEN = 4096
LORA_RANK = 16
IMAGE_TOKENS = 1024
"""A picture of about 900 x 900 pixels in 28-pixel patches."""

_REASONS = {
    "method": "nothing said which parameters train; full fine-tuning assumed",
    "precision": "the usual regime of the method and framework",
    "quantization": "no weight format was said",
    "optimizer": "AdamW is the default of the training programs",
    "optimizer_impl": "default of the training program",
    "micro_batch_size": "smallest batch; ask again with yours",
    "seq_len": "a common fine-tuning length, within the positions of the model",
    "gradient_checkpointing": "default of the training program",
    "attention": "fused attention is the default of current libraries",
    "lora_rank": "a common rank",
    "lora_targets": "all linear layers but the head, as the guides advise",
    "fused_ce": "the stock loss keeps the logits in fp32",
    "framework": "transformers with peft and gradient checkpointing, as most guides set it up",
    "autocast": "default of the training program",
    "adapter_dtype": "peft keeps adapters in fp32",
    "kbit_prepared": "prepare_model_for_kbit_training is what the guides call",
    "double_quant": "commonly on with NF4",
    "logits_held_through_backward": "default of the training program",
    "gradients_kept_across_steps": "gradients are freed before the forward unless accumulated",
    "parallelism": "one card, or plain data parallelism over several",
    "gpu_count": "one card",
    "engine": "vLLM is the commonest server",
    "weight_format": "weights as published, at most 16 bit",
    "batch": "one sequence at a time",
    "context_len": "a common context",
    "kv_dtype": "the cache follows the weights' 16-bit dtype",
    "gpu_memory_utilization": "vLLM's default",
    "prompt_len": "the whole context may be prompt",
    "image_tokens": "a common image size of the model",
    "max_num_batched_tokens": "default of the engine",
    "max_num_seqs": "default of the engine",
    "completion_len": "default of the trainer",
    "image_px": "the usual size of the model",
    "frames": "the usual length of the model",
    "audio_samples": "ten seconds at 16 kHz",
    "text_cached": "the scripts encode the prompts once and drop the text encoders",
    "latents_cached": "the scripts encode the clips beforehand",
    "target_len": "a common target length",
    "beams": "default of the engine",
    "max_prompt_len": "queries are commonly shorter than documents",
    "reference_model": "full training keeps a frozen copy; with adapters it is the base model",
}
_UNITS = {
    "seq_len": "token",
    "context_len": "token",
    "prompt_len": "token",
    "completion_len": "token",
    "target_len": "token",
    "max_prompt_len": "token",
    "image_px": "pixel",
}


def explain(name: str, value: int | float | str | bool) -> Assumption:
    """An assumption with its reason.

    >>> explain("seq_len", 1024).unit
    'token'
    """
    why = _REASONS.get(name, "not said; a common value")
    return Assumption(name, value, _UNITS.get(name, "1"), why)
