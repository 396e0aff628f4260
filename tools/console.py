"""The end of a command line: its exit status, also when it is cut short from outside."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import NoReturn

BROKEN_PIPE = 141
"""Status of a program that was ended by SIGPIPE: 128 + 13."""
INTERRUPTED = 130
"""Status of a program that was ended by Ctrl-C: 128 + 2."""
BAD_USAGE = 2
_OWN_FOLDERS = "XUANKA_STATE_DIR and XUANKA_CACHE_DIR name the folders that are written unasked."


def run_console(main: Callable[[], int]) -> NoReturn:
    """Runs a command and exits with its status; what ends it from outside leaves no traceback.

    Args:
        main: Gives the exit status.

    Raises:
        SystemExit: Always: the status of `main`, 141 where nobody reads the output any more, 130
            after Ctrl-C, 2 where a file or folder cannot be read or written.
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
    except KeyboardInterrupt:
        status = INTERRUPTED
    except OSError as error:
        if error.filename is None:  # not about a path: nothing that a reader could mend by name
            raise
        print(unusable(error), file=sys.stderr)
        status = BAD_USAGE
    sys.exit(status)


def unusable(error: OSError) -> str:
    """What is wrong with a path, in a sentence.

    >>> unusable(FileNotFoundError(2, "No such file or directory", "a.jsonl"))
    'a.jsonl: no such file or directory. Name a path that can be read or written.'
    """
    reason = error.strerror or type(error).__name__
    lowered = reason[:1].lower() + reason[1:]
    path = os.fsdecode(error.filename) if isinstance(error.filename, bytes) else error.filename
    said = f"{path}: {lowered}. Name a path that can be read or written."
    return said if isinstance(error, FileNotFoundError) else f"{said} {_OWN_FOLDERS}"
