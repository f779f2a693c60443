"""Listing folders without being led out of them.

What is found under a root may be a link, and a link may lead anywhere. One that leaves the root is an
`Obstacle` and is not followed; one to a folder inside is left alone, since that is found where it is.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from msgspec import Struct


class ObstacleKind(StrEnum):
    """Why something on the way was not read."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    OUTSIDE = "outside"
    """A link out of the folder that it stands in."""


class Obstacle(Struct, frozen=True, gc=False):
    """Something on the way that was not read."""

    path: Path
    kind: ObstacleKind
    reason: str = ""


class Listing(Struct, frozen=True, gc=False):
    """The names in one folder, sorted."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


class FolderLister:
    """Lists folders and gathers what stood in the way."""

    def __init__(self) -> None:
        self.obstacles: list[Obstacle] = []

    def list_folder(self, folder: str, root: str) -> Listing:
        """List one folder; links must stay under `root`."""
        files: list[str] = []
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._sort(entry, root, files, folders)
        except OSError as error:
            self.report(folder, error)
        return Listing(tuple(sorted(files)), tuple(sorted(folders)))

    def report(self, path: str, error: OSError) -> None:
        """Note that `path` could not be read."""
        gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        kind = ObstacleKind.MISSING if gone else ObstacleKind.UNREADABLE
        self.obstacles.append(Obstacle(Path(path), kind, error.strerror or str(error)))

    def _sort(self, entry: os.DirEntry[str], root: str, files: list[str], folders: list[str]) -> None:
        if entry.is_symlink():
            if not is_inside(entry.path, root):
                self.obstacles.append(
                    Obstacle(Path(entry.path), ObstacleKind.OUTSIDE, "a link out of its folder")
                )
                return
            if entry.is_dir():
                return
        elif entry.is_dir():
            folders.append(entry.name)
            return
        if entry.is_file():
            files.append(entry.name)
        else:
            self.obstacles.append(Obstacle(Path(entry.path), ObstacleKind.UNREADABLE, "not a regular file"))


def is_inside(path: str, root: str) -> bool:
    """Tell whether `path` is under `root` when all links are followed."""
    real, real_root = os.path.realpath(path), os.path.realpath(root)
    return real.startswith(real_root.rstrip(os.sep) + os.sep)
