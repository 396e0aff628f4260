"""Models of tables and tiny networks without a row: they need host memory, hardly any GPU."""

from __future__ import annotations

from agent.request import Request
from tools.models import SMALL_KINDS, try_find_model

_ON_CPU_ONLY = ("scikit-learn", "sklearn")
_OF_TABLES = (
    "xgboost", "lightgbm", "catboost", "gbdt", "random forest", "decision tree", "svm", "knn",
    "pca", "logistic regression", "linear regression", "naive bayes", "arima", "prophet",
)  # fmt: skip
"""Programs and methods that hold their data in host memory, on a GPU only when told to."""
_SMALL = ("mnist", "cifar", "lenet")


_OF_A_RUN = ("fit_check", "recommend_instance")
_OF_A_SERVICE = (*_OF_A_RUN, "serving_plan")
_OF_A_MACHINE = ("fit_check", "multi_gpu_plan", "serving_plan", "time_estimate")
"""Questions about a run on a machine that is named."""


def _is_on_cpu_type(request: Request) -> bool:
    """Whether a small network is to run on a type without a GPU."""
    slots = request.slots
    match = try_find_model(slots.model) if slots.model is not None else None
    if slots.instance is None or match is None or match.spec.kind not in SMALL_KINDS:
        return False
    from tools.catalog import find_instance

    families = find_instance(slots.instance, slots.provider).families
    return bool(families) and all(family.category == "cpu" for family in families)


def _is_small_service(request: Request) -> bool:
    """Whether a small network serves a rate that was said, or a card for it is doubted or none."""
    slots = request.slots
    if slots.has_card or slots.instance is not None or slots.task == "train":
        return False
    match = try_find_model(slots.model) if slots.model is not None else None
    if match is None or match.spec.kind not in SMALL_KINDS:
        return False
    is_rate = slots.request_rate_per_s is not None
    if slots.gpu == "none":
        return is_rate or slots.vcpu is not None or bool(slots.samples or slots.rows)
    is_rate = is_rate and request.intent in _OF_A_RUN
    return is_rate or request.says("hosts.doubts_card")


def is_for_host(request: Request) -> bool:
    """Whether a question about memory or machines is one about a CPU server."""
    slots = request.slots
    name = (slots.model or "").casefold()
    if name in _ON_CPU_ONLY:
        return True
    if request.intent in _OF_A_MACHINE and not slots.has_card and _is_on_cpu_type(request):
        return True
    if request.intent in _OF_A_SERVICE and _is_small_service(request):
        return True
    is_table = name in _OF_TABLES
    if request.intent == "io_bottleneck" and is_table:
        return bool(slots.rows and slots.columns and slots.gpu_util_pct is None)
    if request.intent not in _OF_A_RUN or slots.has_card:
        return False
    is_small = any(word in name for word in _SMALL) and try_find_model(name) is None
    return is_table or is_small
