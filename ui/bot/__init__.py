"""Chat platforms: Slack, Feishu, DingTalk. Each takes events in, answers later in the thread."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fastapi import APIRouter

    from ui.bot.inbox import Inbox
    from ui.config import ServiceSettings
    from ui.turn import Adviser

__all__ = ["Bots", "build_bots"]
log = logging.getLogger("xuanka.bot")


class Bots(NamedTuple):
    """What the service mounts and runs."""

    inbox: Inbox
    routers: tuple[APIRouter, ...]


def build_bots(
    settings: ServiceSettings,
    advisor_for: Callable[[str], Adviser],
    *,
    database_url: str | None = None,
) -> Bots | None:
    """The bots whose secrets are set; None when there is none.

    Args:
        settings: Secrets, addresses and the folder for the events' file.
        advisor_for: The advisor that answers for a platform.
        database_url: A Postgres in place of the file, so that replicas share the events.
    """
    names = ("slack_signing_secret", "feishu_app_secret", "dingtalk_app_secret")
    if not any(settings.secret(name) for name in names):
        return None
    from ui.bot.dingtalk import build_dingtalk
    from ui.bot.feishu import build_feishu
    from ui.bot.inbox import Inbox
    from ui.bot.slack import build_slack
    from ui.bot.store import open_store

    store = open_store(settings.state_dir / "bot_events.sqlite", url=database_url)
    inbox = Inbox(store, lease_s=settings.bot_lease_s)
    builders = {"slack": build_slack, "feishu": build_feishu, "dingtalk": build_dingtalk}
    routers: list[APIRouter] = []
    for platform, name in zip(builders, names, strict=True):
        router = builders[platform](settings, advisor_for(platform), inbox)
        if router is not None:
            routers.append(router)
        elif settings.secret(name):
            log.warning("%s is not served: not all of its settings are set", platform)
    return Bots(inbox, tuple(routers))
