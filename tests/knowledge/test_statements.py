"""No note may contradict the catalog and the GPU table.

Two checks: the `facts:` lines beside each section, value by value, and the shown text itself,
wherever it pairs an instance family with a card or names an instance type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import NamedTuple

import pytest
import yaml

from knowledge.notes import all_sections, note_files
from knowledge.types import Section
from tools.catalog import InstanceOffer, catalog, prices_of
from tools.gpus import GpuSpec, find_gpu
from tools.models import find_model

_BLOCK = re.compile(r"^## .+?\n<!--\n(.*?)\n-->\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
CARDS = (
    "A100 A10G A10 A30 T4 V100 P100 P40 P4 L40S L4 L20 H100".split()
)  # longest first where one begins another; RTX-… and Ascend… are cards as well


class Fact(NamedTuple):
    where: str
    provider: str
    subject: str
    values: dict[str, str]
    text: str


def facts() -> Iterator[Fact]:
    for file in note_files():
        for block, text in _BLOCK.findall(file.read_text(encoding="utf-8")):
            fields = yaml.load(block, Loader=yaml.BaseLoader)
            for line in fields.get("facts", ()):
                name, *pairs = line.split()
                provider, _, subject = name.rpartition(":")
                values = dict(pair.split("=") for pair in pairs)
                where = f"{file.name}#{fields['id']} {name}"
                yield Fact(where, provider or "alibaba", subject, values, text)


FACTS = list(facts())


@cache
def offers(provider: str, subject: str) -> tuple[InstanceOffer, ...]:
    """Rows of one type, or of a whole family."""
    name = subject.removeprefix("ecs.").lower()

    def bare(offer: InstanceOffer) -> str:
        return offer.instance_type.removeprefix("ecs.").lower()

    ours = [o for o in catalog().offers if o.provider == provider]
    exact = [o for o in ours if bare(o) == name]
    return tuple(exact or (o for o in ours if re.split(r"[.-]", bare(o))[0] == name))


def card(offer: InstanceOffer) -> str:
    return f"{offer.gpu_name or ''} {offer.gpu_model or ''}"


def is_card(name: str, offer: InstanceOffer) -> bool:
    return re.search(rf"(?<![A-Z0-9]){name}(?![A-Z0-9])", card(offer)) is not None


def known(values: list[object]) -> set[object]:
    return {v for v in values if v is not None}


def gpu_spec(subject: str) -> GpuSpec:
    sized = {"A100": "A100 80GB"}.get(subject, subject)
    return find_gpu(sized).spec


def check_card_fact(fact: Fact) -> None:
    spec = gpu_spec(fact.subject)
    for key, value in fact.values.items():
        held = {
            "card_gb": spec.memory_label_gb,
            "bandwidth": spec.mem_bandwidth_gbs,
            "bf16": spec.bf16_supported,
            "fp8": spec.fp8_supported,
            "nvlink": spec.nvlink,
            "fa2": spec.flash_attention2_supported,
            "mig_max": spec.mig_max_instances,
            "smi_mib": spec.memory_smi_mib,
        }[key]
        if value == "none":
            assert held is None, f"{fact.where}: {key}"
        elif value in ("yes", "no"):
            assert held is (value == "yes"), f"{fact.where}: {key}"
        else:
            assert held == pytest.approx(float(value), rel=0.01), f"{fact.where}: {key}"


def check_model_fact(fact: Fact) -> None:
    spec = find_model(fact.subject).spec
    for key, value in fact.values.items():
        held = {"total": spec.params_total, "active": spec.params_active}[key]
        assert held == pytest.approx(float(value) * 1e9, rel=0.005), f"{fact.where}: {key}"


def check_instance_fact(fact: Fact) -> None:
    rows = offers(fact.provider, fact.subject)
    if fact.values.get("exists") == "no":
        assert not rows, f"{fact.where}: the catalog has it"
        return
    assert rows, f"{fact.where}: the catalog does not have it"
    for key, value in fact.values.items():
        if key == "gpu":
            for row in rows:
                right = is_card(value, row)
                if value in ("none", "yes"):
                    right = row.is_gpu == (value == "yes")
                assert right, f"{fact.where}: {row.instance_type} has {card(row)!r}"
        elif key in ("nvlink", "rdma"):
            held = known([getattr(r, key) for r in rows])
            assert held == {value == "yes"}, f"{fact.where}: {key} {held}"
        elif key == "price":
            amounts = {p.amount for r in rows for p in prices_of(r, billing="on_demand")}
            shown = Decimal(value)
            assert shown in {a.quantize(shown) for a in amounts}, f"{fact.where}: price"
        elif key != "exists":
            assert float(value) == pytest.approx(measured(key, rows)), f"{fact.where}: {key}"


def measured(key: str, rows: tuple[InstanceOffer, ...]) -> float:
    if key in ("min_network", "max_network"):
        rates = [r.network_gbps for r in rows if r.network_gbps is not None]
        return min(rates) if key == "min_network" else max(rates)
    if key == "max_vcpu":
        return max(r.vcpu_count or 0 for r in rows)
    name = {
        "card_gb": "card_memory_gb",
        "vcpu": "vcpu_count",
        "memory": "memory_gib",
        "network": "network_gbps",
        "count": "gpu_count",
        "rdma_gbps": "rdma_gbps",
    }[key]
    (value,) = known([getattr(r, name) for r in rows])
    return float(str(value))


def is_card_subject(subject: str) -> bool:
    return subject in CARDS or subject.startswith(("RTX-", "Ascend"))


@pytest.mark.parametrize("fact", FACTS, ids=[f.where for f in FACTS])
def test_a_note_s_facts_agree_with_the_data(fact: Fact) -> None:
    if fact.provider == "model":
        check_model_fact(fact)
    elif is_card_subject(fact.subject) and fact.provider == "alibaba":
        check_card_fact(fact)
    else:
        check_instance_fact(fact)


@pytest.mark.parametrize("fact", FACTS, ids=[f.where for f in FACTS])
def test_a_fact_stands_in_the_text_beside_it(fact: Fact) -> None:
    text = fact.text.replace(",", "").lower()
    for key, value in fact.values.items():
        if key == "price":
            assert value in text, f"{fact.where}: {value}"
        elif key == "gpu" and value not in ("none", "yes"):
            assert value.lower() in text, f"{fact.where}: {value}"


def test_facts_are_many_and_cover_both_languages() -> None:
    assert len(FACTS) > 200
    assert {f.where.split("#")[0].split(".")[1] for f in FACTS} == {"zh", "en"}


# -- the shown text itself -------------------------------------------------------------------

_NAME = re.compile(r"(?<![\w.-])((?:ebm|scc|v|s)?gn\d[a-z]*(?:-[a-z0-9]+)*(?:\.\d*[a-z]+)?)")
_PAIR = re.compile(
    r"(?<![\w.-])(gn\d[a-z]{0,2})(?![\w-])(?:\s*(?:是|is|用|装的是|has|carries)\s*"
    r"(?:a |an |the )?|\s?[(（])(" + "|".join(CARDS) + r")(?![0-9A-Za-z])"
)
_REVERSED = re.compile(
    r"(?<![0-9A-Za-z])(" + "|".join(CARDS) + r")(?:\s\d+\sGB)?\s?[(（](gn\d[a-z]{0,2})[,，)）]"
)
_DENIED = re.compile(r"不对|配错|不是|不成立|错误|wrong|not so|not true|\"|“|”")


def sentences(section: Section) -> list[str]:
    return re.split(r"[。;；]|\.\s", section.text)


def test_every_instance_name_in_the_text_is_in_the_catalog() -> None:
    names = 0
    for section in all_sections():
        absent = {
            f.subject for f in FACTS if f.values.get("exists") == "no"
        }  # named because they do not exist
        for name in _NAME.findall(section.text):
            names += 1
            plain = name.removesuffix(".").rstrip("-").removesuffix("-vws")
            if plain in absent or plain in {"gn8", "gn6", "gn7"}:
                continue
            found = offers("alibaba", plain) or any(
                o.instance_type.removeprefix("ecs.").startswith(plain) for o in catalog().offers
            )
            assert found, f"{section.passage_id} names {name}"
    assert names > 150


def test_every_pair_of_family_and_card_in_the_text_is_right() -> None:
    pairs = 0
    for section in all_sections():
        for sentence in sentences(section):
            if _DENIED.search(sentence):
                continue
            found = list(_PAIR.findall(sentence))
            found += [(family, name) for name, family in _REVERSED.findall(sentence)]
            for family, name in found:
                rows = offers("alibaba", family)
                if not rows:
                    continue
                pairs += 1
                assert all(is_card(name, r) for r in rows), (
                    f"{section.passage_id}: {family} is not {name}"
                )
    assert pairs > 30


@pytest.mark.parametrize(
    ("sentence", "pair"),
    [
        ("gn7i 是 V100", ("gn7i", "V100")),
        ("gn7i is a V100", ("gn7i", "V100")),
        ("gn7i (V100)", ("gn7i", "V100")),
    ],
)
def test_a_wrong_pairing_would_be_seen(sentence: str, pair: tuple[str, str]) -> None:
    assert _PAIR.findall(sentence) == [pair]
    assert not all(is_card(pair[1], r) for r in offers("alibaba", pair[0]))
