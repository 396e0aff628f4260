"""Images of a vision-language model as tokens of its sequence."""

from __future__ import annotations

import math

from tools.memory.defaults import IMAGE_TOKENS
from tools.memory.tables import Row, table
from tools.memory.workload import InferenceWorkload, TrainingWorkload


def image_tokens(
    workload: InferenceWorkload | TrainingWorkload,
    assumed: list[tuple[str, int | float | str | bool]],
) -> int:
    """Tokens that a sequence's images take; an assumed size is added to `assumed`."""
    if not workload.images:
        return 0
    each = workload.image_tokens
    if each is None:
        each = _by_size(workload)
        assumed.append(("image_tokens", each))
    return workload.images * each


def _by_size(workload: InferenceWorkload | TrainingWorkload) -> int:
    """Tokens of an image of the size that was said; of a common size where none was."""
    height = workload.image_height or workload.image_px
    width = workload.image_width or workload.image_px
    row = _rule(workload)
    if row is None:
        return IMAGE_TOKENS
    if "fixed_tokens" in row:
        return int(row["fixed_tokens"])
    if height is None or width is None:
        return IMAGE_TOKENS
    return tokens_of_image(row, height=height, width=width)


def _rule(workload: InferenceWorkload | TrainingWorkload) -> Row | None:
    spec = workload.model
    family = spec.family or ""
    if "internvl" in spec.name.casefold():
        family = "internvl"
    return table("images").get(family)


def tokens_of_image(row: Row, *, height: int, width: int) -> int:
    """Tokens of one image, by a row of data/images.json; height and width in pixels.

    >>> tokens_of_image({"pixels_per_token": 28, "most_tokens": 16384}, height=1024, width=1024)
    1369
    """
    if "tile_px" in row:
        return _tiled(row, height=height, width=width)
    side = int(row["pixels_per_token"])
    tokens = max(round(height / side), 1) * max(round(width / side), 1)
    return min(tokens, int(row["most_tokens"]))


def _tiled(row: Row, *, height: int, width: int) -> int:
    """Tiles on the grid whose shape is nearest the image's, and a thumbnail where there are more.

    Of grids of the same shape the larger one is taken once the image fills half of it.
    """
    side, most = int(row["tile_px"]), int(row["most_tiles"])
    grids = [(x, y) for x in range(1, most + 1) for y in range(1, most + 1) if x * y <= most]
    grids.sort(key=lambda grid: grid[0] * grid[1])
    best, nearest = (1, 1), math.inf
    for x, y in grids:
        apart = abs(width / height - x / y)
        is_filled = width * height > 0.5 * side * side * x * y
        if apart < nearest or (apart == nearest and is_filled):
            best, nearest = (x, y), apart
    tiles = best[0] * best[1]
    return int(row["tile_tokens"]) * (tiles + (1 if tiles > 1 else 0))
