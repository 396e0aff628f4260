"""How the vendors' clients are made: SDK modules stand in for the packages."""

from __future__ import annotations

import sys
from types import ModuleType
from types import SimpleNamespace as Shape
from typing import Any

import pytest

from tools.catalog.refresh import alibaba, aws, tencent
from tools.errors import MissingCredentialsError, MissingExtraError, VendorError


def module(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> ModuleType:
    """A package under `name`, with its parents, for this test."""
    parts = name.split(".")
    for length in range(1, len(parts) + 1):
        path = ".".join(parts[:length])
        if path not in sys.modules or length == len(parts):
            monkeypatch.setitem(sys.modules, path, ModuleType(path))
        if length > 1:
            parent = sys.modules[".".join(parts[: length - 1])]
            monkeypatch.setattr(parent, parts[length - 1], sys.modules[path], raising=False)
    for key, value in members.items():
        setattr(sys.modules[name], key, value)
    return sys.modules[name]


class CredentialError(Exception):
    pass


class TeaError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(f"code {code}")
        self.code = code


@pytest.fixture
def ecs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for alibabacloud-ecs20140526 and its credentials package."""
    state: dict[str, Any] = {"credential": object(), "error": None}

    class Credentials:
        def get_credential(self) -> object:
            if state["credential"] is None:
                raise CredentialError("unable to load credentials")
            return state["credential"]

    class Config:
        endpoint = ""

        def __init__(self, *, credential: object, region_id: str) -> None:
            state["region"] = region_id

    class Client:
        def __init__(self, config: Config) -> None:
            state["endpoint"] = config.endpoint

        def describe_instance_types(self, request: Shape) -> Shape:
            if state["error"]:
                raise state["error"]
            return Shape(body=Shape(instance_types=Shape(instance_type=[]), next_token=None))

    module(monkeypatch, "alibabacloud_credentials.client", Client=Credentials)
    module(monkeypatch, "alibabacloud_credentials.exceptions", CredentialException=CredentialError)
    module(monkeypatch, "Tea.exceptions", TeaException=TeaError)
    module(monkeypatch, "alibabacloud_tea_openapi.models", Config=Config)
    package = module(monkeypatch, "alibabacloud_ecs20140526.client", Client=Client)
    assert package is not None
    models = Shape(DescribeInstanceTypesRequest=Shape, DescribePriceRequest=Shape)
    monkeypatch.setattr(sys.modules["alibabacloud_ecs20140526"], "models", models, raising=False)
    return state


def test_alibaba_asks_the_endpoint_of_the_region(ecs: dict[str, Any]) -> None:
    feed = alibaba.fetch("cn-beijing")
    assert (feed.types, feed.region) == ((), "cn-beijing")
    assert (ecs["region"], ecs["endpoint"]) == ("cn-beijing", "ecs.cn-beijing.aliyuncs.com")


def test_alibaba_without_credentials_is_one_sentence(ecs: dict[str, Any]) -> None:
    ecs["credential"] = None
    with pytest.raises(MissingCredentialsError) as error:
        alibaba.fetch()
    assert "ALIBABA_CLOUD_ACCESS_KEY_ID" in str(error.value)
    assert str(error.value).count(". ") == 0


def test_alibaba_refusing_gives_its_code(ecs: dict[str, Any]) -> None:
    ecs["error"] = TeaError("Forbidden.RAM")
    with pytest.raises(VendorError, match="Forbidden.RAM"):
        alibaba.fetch()


def test_alibaba_that_cannot_be_reached_is_one_clear_sentence(ecs: dict[str, Any]) -> None:
    # the message as alibabacloud-ecs20140526 7.11 hands it on
    pool = "HTTPSConnectionPool(host='ecs.cn-hangzhou.aliyuncs.com', port=443): Max retries ..."
    ecs["error"] = OSError(str({"message": pool}))
    with pytest.raises(VendorError, match=r"no connection to ecs\.cn-hangzhou\.aliyuncs\.com"):
        alibaba.fetch()


def gpu_row(name: str) -> Shape:
    """A type with the field names of the SDK's DescribeInstanceTypes model."""
    return Shape(
        instance_type_id=name, instance_type_family="ecs.gn7i", gpuspec="NVIDIA A10", gpuamount=1,
        gpumemory_size=22.35, cpu_core_count=8, memory_size=30.0, physical_processor_model=None,
        instance_bandwidth_rx=16_000_000, eri_quantity=0, local_storage_capacity=None,
        local_storage_amount=None,
    )  # fmt: skip


class Prices:
    """An ECS client that knows two types and answers prices as told."""

    def __init__(self, code: str) -> None:
        self.code = code

    def describe_instance_types(self, request: Shape) -> Shape:
        rows = [gpu_row("ecs.gn7i-c8g1.2xlarge"), gpu_row("ecs.gn7i-c16g1.4xlarge")]
        return Shape(body=Shape(instance_types=Shape(instance_type=rows), next_token=None))

    def describe_price(self, request: Shape) -> Shape:
        raise TeaError(self.code)


def test_throttled_prices_end_the_refresh_and_unsold_types_do_not(ecs: dict[str, Any]) -> None:
    models = Shape(DescribeInstanceTypesRequest=Shape, DescribePriceRequest=Shape)
    for code in ("Throttling.User", "Forbidden.RAM", "SignatureDoesNotMatch"):
        with pytest.raises(VendorError, match=code):
            alibaba.fetch(client=Prices(code), models=models)
    feed = alibaba.fetch(client=Prices("PriceNotFound"), models=models)
    assert (len(feed.types), feed.prices) == (2, ())
    assert "PriceNotFound" in feed.notes[0]


class TencentError(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@pytest.fixture
def cvm(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A stand-in for tencentcloud-sdk-python-cvm."""
    state: dict[str, Any] = {"error": None}

    class Client:
        def __init__(self, credential: str, region: str) -> None:
            state.update(credential=credential, region=region)

        def DescribeZoneInstanceConfigInfos(self, request: Shape) -> Shape:
            if state["error"]:
                raise state["error"]
            return Shape(InstanceTypeQuotaSet=None)

    found = Shape(get_credential=lambda: "secret")
    credential = Shape(EnvironmentVariableCredential=lambda: found)
    module(monkeypatch, "tencentcloud.common", credential=credential)
    module(monkeypatch, "tencentcloud.common.exception", TencentCloudSDKException=TencentError)
    models = Shape(DescribeZoneInstanceConfigInfosRequest=Shape, Filter=Shape)
    client = Shape(CvmClient=Client)
    module(monkeypatch, "tencentcloud.cvm.v20170312", cvm_client=client, models=models)
    monkeypatch.setenv("TENCENTCLOUD_SECRET_ID", "id")
    monkeypatch.setenv("TENCENTCLOUD_SECRET_KEY", "key")
    return state


def test_tencent_takes_the_environments_credentials(cvm: dict[str, Any]) -> None:
    feed = tencent.fetch("ap-shanghai")
    assert feed.types == ()
    assert (cvm["credential"], cvm["region"]) == ("secret", "ap-shanghai")


def test_tencent_without_credentials_is_one_sentence(
    cvm: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TENCENTCLOUD_SECRET_KEY")
    with pytest.raises(MissingCredentialsError, match="TENCENTCLOUD_SECRET_ID"):
        tencent.fetch()


def test_tencent_refusing_gives_its_code(cvm: dict[str, Any]) -> None:
    cvm["error"] = TencentError("AuthFailure.SecretIdNotFound")
    with pytest.raises(VendorError, match="AuthFailure"):
        tencent.fetch()


def test_a_missing_boto3_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(MissingExtraError, match="aws"):
        aws.fetch()
