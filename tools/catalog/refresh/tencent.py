"""Tencent Cloud: GPU types and on-demand prices from CVM."""

from __future__ import annotations

import os
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tools.catalog.offer import Category
from tools.catalog.refresh.feed import Feed, FetchedPrice, FetchedType
from tools.errors import MissingCredentialsError, MissingExtraError, VendorError

DEFAULT_REGION = "ap-guangzhou"
_WHERE = "TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY"


def fetch(region: str | None = None, *, client: Any = None, models: Any = None) -> Feed:
    """GPU types of CVM in a region, with today's hourly prices.

    Args:
        region: Region id; ap-guangzhou without it.
        client: CVM client in place of one made from the environment.
        models: Request classes in place of the SDK's.

    Raises:
        MissingExtraError: If the SDK is not installed.
        MissingCredentialsError: If the environment has no credentials.
        VendorError: If the API refuses or fails.
    """
    where = region or DEFAULT_REGION
    if client is None:
        client, models = _client(where)
    rows = [row for row in _described(client, models) if row.Gpu or row.GpuCount]
    types = {row.InstanceType: _type(row) for row in rows}
    prices = {p.instance_type: p for row in rows if (p := _price(row, where)) is not None}
    locator = f"CVM DescribeZoneInstanceConfigInfos, {where}"
    return Feed("tencent", where, locator, tuple(types.values()), tuple(prices.values()))


def _client(region: str) -> tuple[Any, Any]:
    try:
        from tencentcloud.common import credential
        from tencentcloud.cvm.v20170312 import cvm_client, models
    except ImportError as error:
        raise MissingExtraError("Refreshing Tencent Cloud", extra="tencent") from error
    names = ("TENCENTCLOUD_SECRET_ID", "TENCENTCLOUD_SECRET_KEY")
    if not all(os.environ.get(name) for name in names):
        raise MissingCredentialsError("tencent", where=_WHERE)
    found = credential.EnvironmentVariableCredential().get_credential()
    return cvm_client.CvmClient(found, region), models


def _sdk_errors() -> tuple[type[Exception], ...]:
    """Network errors, and the SDK's own where it is installed."""
    try:
        from tencentcloud.common.exception import TencentCloudSDKException
    except ImportError:
        return (OSError,)
    return OSError, TencentCloudSDKException


def _described(client: Any, models: Any) -> Iterable[Any]:
    request = models.DescribeZoneInstanceConfigInfosRequest()
    charge = models.Filter()
    charge.Name, charge.Values = "instance-charge-type", ["POSTPAID_BY_HOUR"]
    request.Filters = [charge]
    errors = _sdk_errors()
    try:
        answer = client.DescribeZoneInstanceConfigInfos(request)
    except errors as error:
        reason = getattr(error, "code", None) or error
        raise VendorError(f"Tencent Cloud DescribeZoneInstanceConfigInfos: {reason}") from error
    return answer.InstanceTypeQuotaSet or ()


def _type(row: Any) -> FetchedType:
    cards = Fraction(str(row.GpuCount)).limit_denominator(64) if row.GpuCount else None
    share = Fraction(1) if cards is None or cards >= 1 else cards
    category: Category = "vgpu-slice" if share < 1 else "gpu"
    return FetchedType(
        instance_type=row.InstanceType,
        family=row.InstanceFamily,
        category=category,
        gpu_count=1 if share < 1 else int(cards) if cards else row.Gpu or None,
        gpu_fraction=share,
        vcpu_count=row.Cpu,
        memory_gib=float(row.Memory) if row.Memory else None,
        cpu_model=row.CpuType or None,
        network_gbps=row.InstanceBandwidth or None,
    )


def _price(row: Any, region: str) -> FetchedPrice | None:
    price = row.Price
    if price is None or not price.UnitPrice or price.ChargeUnit != "HOUR":
        return None
    amount = Decimal(str(price.UnitPrice))
    return FetchedPrice(row.InstanceType, region, "on_demand", amount, "CNY")
