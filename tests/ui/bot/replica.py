"""One replica of the service with a fake advisor: `python -m tests.ui.bot.replica PORT`."""

from __future__ import annotations

import sys

import uvicorn

from agent import Settings
from tests.ui.fakes import FakeAdvisor
from ui.config import ServiceSettings
from ui.service import create_app


def main() -> None:
    """Serves until it is killed."""
    app = create_app(
        Settings(), config=ServiceSettings(), advisor=FakeAdvisor(delay_s=0.05), page=False
    )
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")


if __name__ == "__main__":
    main()
