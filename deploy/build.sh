#!/bin/sh
# Builds the page and the wheel, from a fresh checkout: deploy/build.sh OUT
# Needs Python 3.11 or newer, Node 20 or newer, npm and make.
set -eu
out=${1:?"where to put the wheel: deploy/build.sh OUT"}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
make src/turnlog/server/page/index.html
"${PYTHON:-python3}" -m pip wheel --quiet --no-deps --wheel-dir "$out" .
