"""Lists of kinds: what is treated alike is of the registry, and no kind is of two natures."""

from __future__ import annotations

from tools.models import (
    DENOISER_KINDS,
    ENCODER_KINDS,
    LANGUAGE_KINDS,
    SEEING_KINDS,
    SMALL_KINDS,
    WRITING_KINDS,
    all_models,
)


def test_every_kind_listed_is_one_of_the_registry() -> None:
    listed = {*WRITING_KINDS, *DENOISER_KINDS, *SMALL_KINDS}
    assert listed <= {spec.kind for spec in all_models()}


def test_natures_do_not_overlap() -> None:
    natures = (WRITING_KINDS, DENOISER_KINDS, ENCODER_KINDS, SEEING_KINDS)
    assert sum(map(len, natures)) == len({kind for nature in natures for kind in nature})
    assert set(LANGUAGE_KINDS) < set(WRITING_KINDS)


def test_language_models_keep_a_cache() -> None:
    kept = [s for s in all_models() if s.kind in LANGUAGE_KINDS and s.num_key_value_heads]
    assert len(kept) > 100
