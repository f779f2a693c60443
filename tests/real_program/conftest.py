"""Recordings of the real program as fixtures, each made once for all test processes of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from real_program.recordings import Recording, find_obstacle, make_recording
from real_program.scenarios import SCENARIOS


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all test processes of a run share."""
    obstacle = find_obstacle()
    if obstacle is not None:
        pytest.skip(f"the real program cannot be recorded here: {obstacle}")
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # each process has a folder of its own in that of the run
    return folder / "real_program"


@pytest.fixture(scope="session")
def record(shared: Path) -> Callable[[str], Recording]:
    """Return a function that gives the recording of a scenario."""
    made: dict[str, Recording] = {}

    def recording(name: str) -> Recording:
        if name not in made:
            made[name] = make_recording(name, shared)
        return made[name]

    return recording


@pytest.fixture(scope="session", params=list(SCENARIOS))
def any_recording(request: pytest.FixtureRequest, record: Callable[[str], Recording]) -> Recording:
    return record(request.param)


@pytest.fixture(scope="session")
def tools(record: Callable[[str], Recording]) -> Recording:
    return record("tools")


@pytest.fixture(scope="session")
def agents(record: Callable[[str], Recording]) -> Recording:
    return record("agents")


@pytest.fixture(scope="session")
def compaction(record: Callable[[str], Recording]) -> Recording:
    return record("compaction")


@pytest.fixture(scope="session")
def interruption(record: Callable[[str], Recording]) -> Recording:
    return record("interruption")


@pytest.fixture(scope="session")
def prices(record: Callable[[str], Recording]) -> Recording:
    return record("prices")


@pytest.fixture(scope="session")
def failures(record: Callable[[str], Recording]) -> Recording:
    return record("failures")
