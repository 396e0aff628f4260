"""Alibaba Cloud: instance types and list prices from ECS."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tools.catalog.offer import Category
from tools.catalog.refresh.feed import Feed, FetchedPrice, FetchedType
from tools.errors import MissingCredentialsError, MissingExtraError, VendorError

DEFAULT_REGION = "cn-hangzhou"
_PAGE = 100
_ENDS = (
    "Throttling", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "SecurityToken",
    "ServiceUnavailable", "InternalError", "no connection", "timed out", "NoPermission",
)  # fmt: skip
"""Answers that speak about the caller or the service, not about one type: nothing is written."""
_KBPS_PER_GBPS = 1024 * 1024
"""InstanceBandwidthRx counts 10 Gbit/s as 10240000 or 10485760 kbit/s; see `_gbps`."""
_SHARE = re.compile(r"^(?P<card>.+?)\s*\*?\s*(?P<part>1/\d+)$")
_WHERE = "ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET (or the CLI's profile)"


def fetch(region: str | None = None, *, client: Any = None, models: Any = None) -> Feed:
    """GPU types of ECS, with today's list prices of a region.

    Args:
        region: Region id; cn-hangzhou without it.
        client: ECS client in place of one made from the environment.
        models: Request classes in place of the SDK's.

    Raises:
        MissingExtraError: If the SDK is not installed.
        MissingCredentialsError: If the SDK finds no credentials.
        VendorError: If the API refuses or fails. A refusal that concerns one type (not sold in
            the region) is counted and skipped.
    """
    where = region or DEFAULT_REGION
    if client is None:
        client, models = _client(where)
    types = tuple(_type(row) for row in _described(client, models) if _has_gpu(row))
    prices = []
    refusals: Counter[str] = Counter()
    for one in types:
        try:
            price = _price(client, models, one.instance_type, where)
        except VendorError as error:
            if any(word in str(error) for word in _ENDS):
                raise
            refusals[str(error)] += 1
            continue
        if price is not None:
            prices.append(price)
    notes = _notes(len(types) - len(prices), refusals, where)
    locator = f"ECS DescribeInstanceTypes and DescribePrice, {where}"
    return Feed("alibaba", where, locator, types, tuple(prices), notes)


def _notes(missing: int, refusals: Counter[str], where: str) -> tuple[str, ...]:
    """What to say of the types without a price, with the API's most frequent answer."""
    if not missing:
        return ()
    said = refusals.most_common(1)
    why = f" The API mostly says: {said[0][0]}" if said else ""
    return (f"{missing} types have no price in {where}: not sold there, or not priced.{why}",)


def _client(region: str) -> tuple[Any, Any]:
    try:
        from alibabacloud_credentials.client import Client as Credentials
        from alibabacloud_ecs20140526 import models
        from alibabacloud_ecs20140526.client import Client
        from alibabacloud_tea_openapi.models import Config
    except ImportError as error:
        raise MissingExtraError("Refreshing Alibaba Cloud", extra="alibaba") from error
    errors: tuple[type[Exception], ...] = (*_sdk_errors(), ValueError)
    logging.disable(logging.CRITICAL)  # the chain logs a traceback for every place it looks in
    try:
        credentials = Credentials()
        credentials.get_credential()
    except errors as error:
        raise MissingCredentialsError("alibaba", where=_WHERE) from error
    finally:
        logging.disable(logging.NOTSET)
    config = Config(credential=credentials, region_id=region)
    config.endpoint = f"ecs.{region}.aliyuncs.com"
    return Client(config), models


def _asked(client: Any, operation: str, request: Any) -> Any:
    """Body of an answer; the SDK's errors turned into ours."""
    errors = _sdk_errors()
    try:
        return getattr(client, operation)(request).body
    except errors as error:
        raise VendorError(f"Alibaba Cloud {operation}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The API's code, or in a few words what kept the connection from being made."""
    code = getattr(error, "code", None)
    if code:
        return str(code)
    text = str(getattr(error, "message", None) or error)
    host = re.search(r"host='([^']+)'", text.replace("\\'", "'"))
    return f"no connection to {host[1]}" if host else text


def _sdk_errors() -> tuple[type[Exception], ...]:
    """Network errors, and the SDK's own where it is installed."""
    try:
        from alibabacloud_credentials.exceptions import CredentialException
        from Tea.exceptions import TeaException
    except ImportError:
        return (OSError,)
    return OSError, CredentialException, TeaException


def _described(client: Any, models: Any) -> Iterable[Any]:
    token: str | None = None
    while True:
        request = models.DescribeInstanceTypesRequest(max_results=_PAGE, next_token=token)
        body = _asked(client, "describe_instance_types", request)
        yield from body.instance_types.instance_type
        token = body.next_token
        if not token:
            return


def _has_gpu(row: Any) -> bool:
    return bool(row.gpuspec) or bool(row.gpuamount)


def _type(row: Any) -> FetchedType:
    card, share = _card(row.gpuspec)
    category: Category = "vgpu-slice" if share < 1 else "gpu"
    disks = (row.local_storage_capacity or 0) * (row.local_storage_amount or 0)
    return FetchedType(
        instance_type=row.instance_type_id,
        family=row.instance_type_family.removeprefix("ecs."),
        category=category,
        gpu_model=card,
        gpu_count=1 if share < 1 else row.gpuamount or None,
        gpu_fraction=share,
        gpu_memory_gib=row.gpumemory_size or None,
        vcpu_count=row.cpu_core_count,
        memory_gib=row.memory_size,
        cpu_model=row.physical_processor_model or None,
        network_gbps=_gbps(row.instance_bandwidth_rx),
        rdma=True if row.eri_quantity else None,
        local_storage_gb=disks or None,
    )


def _card(spec: str | None) -> tuple[str | None, Fraction]:
    """Card and share of it in a GPU spec such as `NVIDIA A10` or `NVIDIA A10*1/6`.

    >>> _card("NVIDIA A10*1/6")
    ('NVIDIA A10', Fraction(1, 6))
    """
    if not spec:
        return None, Fraction(1)
    found = _SHARE.match(spec)
    return (found["card"], Fraction(found["part"])) if found else (spec, Fraction(1))


def _gbps(kbps: int | None) -> float | None:
    """Gbit/s of a bandwidth in kbit/s, whichever thousand the API counts with."""
    if not kbps:
        return None
    for unit in (1_000_000, 1_024_000, _KBPS_PER_GBPS):
        value = kbps / unit
        if abs(value * 10 - round(value * 10)) < 1e-6:
            return round(value, 1)
    return round(kbps / 1_000_000, 2)


def _price(client: Any, models: Any, instance_type: str, region: str) -> FetchedPrice | None:
    request = models.DescribePriceRequest(
        region_id=region,
        resource_type="instance",
        instance_type=instance_type,
        price_unit="Hour",
        period=1,
        amount=1,
    )
    price = _asked(client, "describe_price", request).price_info.price
    details = price.detail_infos.detail_info if price.detail_infos else []
    for part in details or []:
        if part.resource == "instanceType" and part.original_price:
            amount = Decimal(str(part.original_price))
            return FetchedPrice(instance_type, region, "on_demand", amount, price.currency)
    return None
