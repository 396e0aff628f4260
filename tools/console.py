"""The end of a command line: its exit status, also when the reader of its output goes away."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

BROKEN_PIPE = 141
"""Status of a program that was ended by SIGPIPE: 128 + 13."""


def run_console(main: Callable[[], int]) -> NoReturn:
    """Runs a command and exits with its status; `... | head` ends it without a traceback.

    Args:
        main: Gives the exit status.

    Raises:
        SystemExit: Always: the status of `main`, or 141 where nobody reads the output any more.
    """
    try:
        try:
            status: int | str | None = main()
        except SystemExit as ended:  # argparse has printed its help or a complaint
            status = ended.code
        sys.stdout.flush()
    except BrokenPipeError:
        # what is still buffered would break the interpreter's own last flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = BROKEN_PIPE
    sys.exit(status)
