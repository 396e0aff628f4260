"""A lock between processes that a killed process lets go of, and atomic replacement of files."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not wait:
                    return False

else:
    import fcntl

    def _acquire(descriptor: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True


@contextmanager
def file_lock(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Holds a lock on a file; yields False when `wait` is off and another process has it.

    The system frees it when the process ends, however it ends.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _acquire(descriptor, wait=wait)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, text: str) -> None:
    """Replaces a small file: a reader sees the old text or the new one, after a crash too."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with aside.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)


def put_in_place(aside: Path, target: Path) -> None:
    """Renames a finished folder to its name; an older one of that name is dropped."""
    if target.exists():
        old = target.with_name(f"{target.name}.{os.getpid()}.old")
        target.rename(old)
        aside.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    else:
        aside.rename(target)
