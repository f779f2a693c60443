"""OpenStack Swift with its interface for S3, on loopback: the program that `s3_server` runs.

All of its servers are in this process: one for accounts, one for containers, one for objects, and the one that
is talked to, in front of them. It prints its port, and ends with the process that started it. On a folder that
another one had, it has what that had.
"""
# mypy: disable-error-code="import-untyped, no-untyped-call"

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import eventlet

eventlet.monkey_patch()

from swift.account.server import AccountController  # noqa: E402
from swift.common.middleware import bulk, catch_errors, listing_formats, slo, tempauth  # noqa: E402
from swift.common.middleware.s3api import s3api  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402
from swift.common.swob import Request  # noqa: E402
from swift.common.utils import set_swift_dir  # noqa: E402
from swift.container.server import ContainerController  # noqa: E402
from swift.obj.server import ObjectController  # noqa: E402
from swift.proxy.server import Application  # noqa: E402

BUCKET = "bytes"
USER = "tests"
SECRET = "not-a-secret"
_ACCOUNT = "turnlog"
_CONFIG = """
[swift-hash]
swift_hash_path_prefix = turnlog
swift_hash_path_suffix = turnlog
[storage-policy:0]
name = one
default = yes
"""


def main(folder: Path, parent: int, port: int) -> None:
    """Serve from a folder, on a port or a free one, until the process that wants it is gone."""
    (folder / "devices" / "one").mkdir(parents=True, exist_ok=True)
    (folder / "swift.conf").write_text(_CONFIG)
    set_swift_dir(str(folder))
    settings = {
        "devices": str(folder / "devices"),
        "swift_dir": str(folder),
        "mount_check": "false",
        "disable_fallocate": "true",
        "account_autocreate": "true",
    }
    servers = {"account": AccountController, "container": ContainerController, "object": ObjectController}
    sockets = {name: eventlet.listen(("127.0.0.1", 0)) for name in servers}
    for name, socket in sockets.items():
        _make_ring(folder / f"{name}.ring.gz", socket.getsockname()[1])
        _serve(socket, servers[name](dict(settings)))
    proxy = Application(dict(settings))
    front = eventlet.listen(("127.0.0.1", port))
    _serve(front, _add_interface(proxy, settings))
    for container in (BUCKET, f"{BUCKET}+segments"):  # of which the second one has what is sent in parts
        made = Request.blank(f"/v1/AUTH_{_ACCOUNT}/{container}", method="PUT").get_response(proxy)
        assert made.is_success, made.status
    print(front.getsockname()[1], flush=True)
    while os.getppid() == parent:
        eventlet.sleep(0.5)


def _make_ring(path: Path, port: int) -> None:
    """Say where a server has all that there is."""
    builder = RingBuilder(2, 1, 0)
    builder.add_dev({
        "id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "one", "meta": "",
        "ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port,
    })  # fmt: skip
    builder.rebalance()
    builder.get_ring().save(str(path))


def _add_interface(proxy: Any, settings: dict[str, str]) -> Any:
    app = slo.filter_factory(dict(settings))(proxy)
    app = bulk.filter_factory(dict(settings))(app)
    app = tempauth.filter_factory(dict(settings), **{f"user_{_ACCOUNT}_{USER}": f"{SECRET} .admin"})(app)
    app = s3api.filter_factory(dict(settings), auth_pipeline_check="false")(app)
    app = listing_formats.filter_factory(dict(settings))(app)
    return catch_errors.filter_factory(dict(settings))(app)


def _serve(socket: Any, app: Any) -> None:
    eventlet.spawn(eventlet.wsgi.server, socket, app, log_output=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
