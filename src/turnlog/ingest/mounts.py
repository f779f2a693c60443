"""Which file systems tell what changes in them: local ones do; what is over a network or a bridge does not."""

from __future__ import annotations

import os
import re
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
_SILENT = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "drvfs", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs",
     "ncp", "nfs", "nfs4", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)  # fmt: skip
_OCTAL = re.compile(rb"\\([0-7]{3})")


def is_silent(path: Path, mounts: Path = MOUNTS) -> bool:
    """Tell whether changes under a path, which need not exist yet, may come without notice."""
    kind = find_type(path, mounts)
    # `fuseblk` is a disk of this machine, `fuse.…` mostly something far away.
    return kind is not None and (kind in _SILENT or kind == "fuse" or kind.startswith("fuse."))


def find_type(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Return the type of the file system that a path is on; None where the system does not say."""
    try:
        lines = mounts.read_bytes().splitlines()
    except OSError:
        return None
    place = os.fsencode(os.path.realpath(path))
    best, kind = b"", None
    for line in lines:
        fields, _, rest = line.partition(b" - ")
        parts = fields.split(b" ")
        if len(parts) < 5 or not rest:
            continue
        point = _OCTAL.sub(lambda match: bytes([int(match[1], 8)]), parts[4])
        # Of two that are mounted over one another the later one is seen.
        if len(point) >= len(best) and _is_under(place, point):
            best, kind = point, rest.split(b" ")[0].decode("ascii", "replace")
    return kind


def _is_under(place: bytes, point: bytes) -> bool:
    return place == point or place.startswith(point.rstrip(b"/") + b"/")
