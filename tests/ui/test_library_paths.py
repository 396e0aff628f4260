from __future__ import annotations

import pytest

from ui.http.library import is_used

USED = (
    "/", "/config", "/theme.css", "/assets/index-abc.js", "/static/fonts/a.woff2",
    "/gradio_api/queue/join", "/gradio_api/queue/data", "/gradio_api/run/predict",
    "/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/heartbeat/abc123",
)  # fmt: skip
NOT_USED = (
    "/gradio_api/file=/etc/passwd", "/gradio_api/file=http://169.254.169.254/", "/file=/etc/passwd",
    "/gradio_api/proxy=http://127.0.0.1:22/", "/gradio_api/upload", "/gradio_api/upload_progress",
    "/gradio_api/vibe-edit", "/gradio_api/vibe-code/", "/gradio_api/process_recording",
    "/gradio_api/component_server", "/gradio_api/dev/reload", "/gradio_api/deep_link",
    "/gradio_api/token", "/gradio_api/run/ask", "/gradio_api/api/ask", "/gradio_api/call/ask",
    "/gradio_api/stream/x", "/monitoring", "/login", "/logout", "/custom_component/x/y/z/w",
    "/static/../../pyproject.toml", "/assets/..%2f", "/gradio_api/heartbeat/a/b", "/svelte/../x",
    "/gradio_api/queue/join/", "/config\n", "//evil.example/",
)  # fmt: skip


@pytest.mark.parametrize("path", USED)
def test_what_the_page_uses_is_served(path: str) -> None:
    assert is_used(path)


@pytest.mark.parametrize("path", NOT_USED)
def test_the_rest_of_the_library_does_not_exist(path: str) -> None:
    assert not is_used(path)
