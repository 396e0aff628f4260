"""A table against the memory of the machine it is read on."""

from __future__ import annotations

import pytest

from agent import ungrounded
from tests.agent.answers import answered
from tools.units import GB


@pytest.mark.parametrize(
    ("question", "table_gb"),
    [
        ("LightGBM训练 6000万行 x 250列 float32,机器内存32G,pandas整个读,行吗", 60),
        ("can I train catboost on 30M rows x 400 numeric columns on a g4dn.2xlarge?", 96),
        ("is 64GB of RAM enough for xgboost with 90M rows and 120 columns?", 86.4),
    ],
)
def test_a_table_larger_than_the_ram_does_not_fit(question: str, table_gb: float) -> None:
    """Rows x columns x 4 or 8 bytes."""
    answer, _ = answered(question)
    assert answer.verdict == "does_not_fit"
    figures = {f.name: f.value for f in answer.figures}
    assert figures["table"] == pytest.approx(table_gb * GB)
    assert "QuantileDMatrix" in answer.text
    assert not ungrounded(answer, question=question)


def test_a_larger_type_of_the_family_is_named() -> None:
    """40e6 x 100 x 4 B = 16 GB: read whole some 37 GB, more than the 16 GiB of the type."""
    answer, _ = answered("xgboost device=cuda, 40M rows x 100 float32 columns on g5.xlarge, ok?")
    assert answer.verdict == "does_not_fit"
    assert "g5.4xlarge" in answer.text


def test_a_small_table_fits() -> None:
    """8e6 x 40 x 8 B = 2.6 GB."""
    answer, _ = answered("xgboost 800万行40列 内存32G的服务器能训吗")
    assert answer.verdict == "fits"
    assert answer.memory is not None
    assert answer.memory.scope == "host_ram"


def test_between_both_it_depends_on_how_it_is_read() -> None:
    """50e6 x 100 x 4 B = 20 GB: 27 GB in batches, 47 GB as a frame, of 32 GiB."""
    answer, _ = answered("xgboost 5000万行 x 100列 float32 内存36G的服务器能训吗")
    assert answer.verdict == "depends"
