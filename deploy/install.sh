#!/bin/sh
# Installs a wheel that build.sh made into an environment of its own: deploy/install.sh WHEEL PREFIX
# The exact versions of what it needs are those that it is tested with.
set -eu
wheel=${1:?"which wheel: deploy/install.sh WHEEL PREFIX"}
prefix=${2:?"where to: deploy/install.sh WHEEL PREFIX"}
versions=$(cd "$(dirname "$0")/.." && pwd)/requirements/dev.txt
"${PYTHON:-python3}" -m venv "$prefix"
"$prefix/bin/python" -m pip install --quiet --disable-pip-version-check --constraint "$versions" \
    "turnlog[postgres,oidc,mcp] @ file://$(cd "$(dirname "$wheel")" && pwd)/$(basename "$wheel")"
"$prefix/bin/turnlog" --version
