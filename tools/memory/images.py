"""Images of a vision-language model as tokens of its sequence."""

from __future__ import annotations

from tools.memory.defaults import IMAGE_TOKENS
from tools.memory.workload import InferenceWorkload, TrainingWorkload


def image_tokens(
    workload: InferenceWorkload | TrainingWorkload,
    assumed: list[tuple[str, int | float | str | bool]],
) -> int:
    """Tokens that a sequence's images take; an assumed size is added to `assumed`."""
    if not workload.images:
        return 0
    if workload.image_tokens is None:
        assumed.append(("image_tokens", IMAGE_TOKENS))
    return workload.images * (workload.image_tokens or IMAGE_TOKENS)
