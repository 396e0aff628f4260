"""Of the page's library only the paths that the page uses are served.

It brings more: uploads, a proxy, an editor, file serving, a reload stream. What is not named here
does not exist, so that none of it needs to be trusted.
"""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from ui.http.protection import refuse

_USED = re.compile(
    r"/(?:config|theme\.css|favicon\.ico|manifest\.json|robots\.txt)?"
    r"|/(?:assets|static|svelte)/[\w./@-]+"
    r"|/gradio_api/(?:queue/(?:join|data)|run/predict|cancel|reset|startup-events|info)"
    r"|/gradio_api/heartbeat/\w+"
)


class OnlyUsed:
    """Answers 404 for any other path of the library."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes on what the page uses."""
        if scope["type"] == "http" and not is_used(scope["path"]):
            await refuse(scope, send, 404, "not_found", "Not Found")
            return
        await self.app(scope, receive, send)


def is_used(path: str) -> bool:
    """True for a path of the library that the page uses.

    >>> is_used("/gradio_api/queue/join"), is_used("/gradio_api/file=/etc/passwd")
    (True, False)
    """
    return ".." not in path and _USED.fullmatch(path) is not None
