"""Models of tables and tiny networks without a row: they need host memory, hardly any GPU."""

from __future__ import annotations

from agent.request import Request
from tools.models import try_find_model

_ON_CPU_ONLY = ("scikit-learn", "sklearn")
_OF_TABLES = (
    "xgboost", "lightgbm", "catboost", "gbdt", "random forest", "decision tree", "svm", "knn",
    "pca", "logistic regression", "linear regression", "naive bayes", "arima", "prophet",
)  # fmt: skip
"""Programs and methods that hold their data in host memory, on a GPU only when told to."""
_SMALL_KINDS = (
    "encoder", "embedding", "reranker", "cnn", "detector", "vit", "segmentation",
)  # fmt: skip
"""Networks of which a CPU may carry the load that was said."""
_SMALL = ("mnist", "cifar", "lenet")


def is_for_host(request: Request, composer: str) -> bool:
    """Whether a question about memory or machines is one about a CPU server."""
    slots = request.slots
    name = (slots.model or "").casefold()
    if name in _ON_CPU_ONLY:
        return True
    if composer not in ("fit", "rent") or slots.gpu not in (None, "none"):
        return False
    if slots.request_rate_per_s and slots.instance is None and slots.gpu is None:
        match = try_find_model(name)
        if match is not None and match.spec.kind in _SMALL_KINDS and slots.task != "train":
            return True
    is_table = name in _OF_TABLES
    is_small = any(word in name for word in _SMALL) and try_find_model(name) is None
    return is_table or is_small
