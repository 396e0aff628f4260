"""Engines and weight formats that belong together."""

from __future__ import annotations

import re

GGUF_ENGINES = ("llama.cpp", "ollama")
"""Engines that run GGUF files and place single layers."""
_GGUF = re.compile(r"gguf|(?:ud-)?(?:iq|q|tq)\d", re.IGNORECASE)


def is_gguf(form: str | None) -> bool:
    """Whether a written weight format is one of GGUF files.

    >>> is_gguf("q4_k_m"), is_gguf("UD-IQ2_XXS"), is_gguf("gguf-q8_0"), is_gguf("int4")
    (True, True, True, False)
    """
    return form is not None and _GGUF.match(form) is not None
