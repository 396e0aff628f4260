"""AWS: instance types from EC2, on-demand prices from the price list service."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tools.catalog.offer import Category
from tools.catalog.refresh.feed import Feed, FetchedPrice, FetchedType
from tools.errors import MissingCredentialsError, MissingExtraError, VendorError

DEFAULT_REGION = "us-east-1"
_FAMILIES = ("g*", "p*", "inf*", "trn*", "dl*")
_PRICE_REGION = "us-east-1"
"""The price list service answers there for all regions."""
_NOT_GPU = ("Habana", "Qualcomm")
_MIB_PER_GIB = 1024


def fetch(region: str | None = None) -> Feed:
    """GPU and accelerator types of a region, with today's on-demand prices.

    Args:
        region: Region id; us-east-1 without it.

    Raises:
        MissingExtraError: If boto3 is not installed.
        MissingCredentialsError: If boto3 finds no credentials.
        VendorError: If EC2 refuses or fails.
    """
    where = region or DEFAULT_REGION
    types = tuple(_type(row) for row in _described(_client("ec2", where)))
    pricing = _client("pricing", _PRICE_REGION)
    prices: tuple[FetchedPrice, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        prices = list_prices(pricing, where, {t.instance_type for t in types})
    except VendorError as error:
        notes = (f"Prices were not asked: {error}",)
    return Feed("aws", where, f"EC2 DescribeInstanceTypes, {where}", types, prices, notes)


def _client(service: str, region: str) -> Any:
    try:
        import boto3
    except ImportError as error:
        raise MissingExtraError("Refreshing AWS", extra="aws") from error
    return boto3.client(service, region_name=region)


def _pages(client: Any, operation: str, **arguments: Any) -> Iterable[Mapping[str, Any]]:
    """Pages of an operation, botocore's errors turned into ours."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        yield from client.get_paginator(operation).paginate(**arguments)
    except NoCredentialsError as error:
        raise MissingCredentialsError(
            "aws", where="AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or an AWS profile)"
        ) from error
    except (BotoCoreError, ClientError) as error:
        raise VendorError(f"AWS {operation}: {error}") from error


def _described(ec2: Any) -> Iterable[Mapping[str, Any]]:
    filters = [{"Name": "instance-type", "Values": list(_FAMILIES)}]
    for page in _pages(ec2, "describe_instance_types", Filters=filters):
        for row in page["InstanceTypes"]:
            if row.get("GpuInfo") or row.get("NeuronInfo") or row.get("InferenceAcceleratorInfo"):
                yield row


def _type(row: Mapping[str, Any]) -> FetchedType:
    name = row["InstanceType"]
    network = row.get("NetworkInfo") or {}
    cards = network.get("NetworkCards") or []
    peak = sum(card.get("PeakBandwidthInGbps") or 0 for card in cards)
    has_efa = network.get("EfaSupported")
    disks = row.get("InstanceStorageInfo") or {}
    return FetchedType(
        instance_type=name,
        family=name.split(".")[0],
        status="current" if row.get("CurrentGeneration", True) else "previous-gen",
        vcpu_count=row["VCpuInfo"]["DefaultVCpus"],
        memory_gib=row["MemoryInfo"]["SizeInMiB"] / _MIB_PER_GIB,
        network_gbps=peak or None,
        rdma=has_efa,
        local_storage_gb=disks.get("TotalSizeInGB"),
        **_devices(row),
    )


def _devices(row: Mapping[str, Any]) -> dict[str, Any]:
    """Card, count, share and memory: of GPUs, else of the accelerators."""
    gpus = (row.get("GpuInfo") or {}).get("Gpus")
    if gpus:
        gpu = gpus[0]
        share = gpu.get("GpuPartitionSize")
        fraction = Fraction(1) if share is None else Fraction(share).limit_denominator(64)
        category: Category = "gpu" if fraction == 1 else "vgpu-slice"
        if gpu.get("Manufacturer") in _NOT_GPU:
            category = "accelerator"
        return {
            "category": category,
            "gpu_model": f"{gpu['Manufacturer']} {gpu['Name']}",
            "gpu_count": gpu.get("LogicalGpuCount") or gpu["Count"],
            "gpu_fraction": fraction,
            "gpu_memory_gib": gpu["MemoryInfo"]["SizeInMiB"] / _MIB_PER_GIB,
        }
    neuron = (row.get("NeuronInfo") or {}).get("NeuronDevices")
    devices = neuron or (row.get("InferenceAcceleratorInfo") or {}).get("Accelerators") or [{}]
    memory = (devices[0].get("MemoryInfo") or {}).get("SizeInMiB")
    return {
        "category": "accelerator",
        "gpu_model": f"AWS {devices[0]['Name']}" if devices[0].get("Name") else None,
        "gpu_count": devices[0].get("Count"),
        "gpu_fraction": Fraction(1),
        "gpu_memory_gib": memory / _MIB_PER_GIB if memory else None,
    }


def list_prices(pricing: Any, region: str, wanted: Container[str]) -> tuple[FetchedPrice, ...]:
    """On-demand Linux prices of a region for the wanted types.

    Raises:
        VendorError: If the price list service refuses or fails.
    """
    terms = {
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "preInstalledSw": "NA",
    }
    filters = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in terms.items()]
    currency = "CNY" if region.startswith("cn-") else "USD"
    found = []
    for page in _pages(pricing, "get_products", ServiceCode="AmazonEC2", Filters=filters):
        for text in page["PriceList"]:
            product = json.loads(text)
            name = product["product"]["attributes"].get("instanceType")
            amount = _hourly(product, currency) if name in wanted else None
            if amount is not None:
                found.append(FetchedPrice(name, region, "on_demand", amount, currency))
    return tuple(found)


def _hourly(product: Mapping[str, Any], currency: str) -> Decimal | None:
    for term in (product.get("terms") or {}).get("OnDemand", {}).values():
        for dimension in term["priceDimensions"].values():
            if dimension.get("unit") == "Hrs" and currency in dimension["pricePerUnit"]:
                amount = Decimal(dimension["pricePerUnit"][currency]).normalize()
                return amount if amount > 0 else None
    return None
