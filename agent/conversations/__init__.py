"""Where conversations are kept: SQLite by default, Postgres by URL.

Of each conversation the newest checkpoint is kept, with what an interrupted turn wrote beside it;
conversations that nobody continued for `Settings.conversation_days` are removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.settings import Settings
from tools.errors import MissingExtraError

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

_FILE = "conversations.sqlite"


def open_checkpointer(settings: Settings) -> BaseCheckpointSaver[Any]:
    """The store of conversations under these settings, with its tables made and tidied.

    Raises:
        MissingExtraError: If a Postgres URL is set and the extra is not installed.
    """
    if settings.checkpoint_url is not None:
        try:
            from agent.conversations.postgres import open_postgres
        except ImportError as error:
            raise MissingExtraError("conversations in Postgres", extra="postgres") from error
        url = settings.checkpoint_url.get_secret_value()
        return open_postgres(url, keep_days=settings.conversation_days)
    from agent.conversations.sqlite import open_sqlite

    settings.state_dir.mkdir(parents=True, exist_ok=True)
    return open_sqlite(settings.state_dir / _FILE, keep_days=settings.conversation_days)
