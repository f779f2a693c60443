"""Settings of the whole suite."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from corpus_archive import CorpusArchive, share_archive
from postgres_server import drop_databases

# A run that is started in the background ignores Ctrl-C, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Contracts are imported by tests, so pytest does not take them for tests whose assertions it should explain.
pytest.register_assert_rewrite("turnlog.testing", "contracts")

# No deadlines: a slow machine is no failure. The same examples each time: a check that passes by luck is none.
# `TURNLOG_EXAMPLES` asks for others, and more of them.
settings.register_profile(
    "test",
    deadline=None,
    max_examples=int(os.environ.get("TURNLOG_EXAMPLES", "100")),
    derandomize="TURNLOG_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("test")


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep out of the data of whoever runs the tests, and of their time zone.

    Commands without a home of their own get an empty one.
    """
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ["TURNLOG_HOME"] = str(tmp_path_factory.mktemp("turnlog-home"))


@pytest.fixture(scope="module", autouse=True)
def databases() -> Iterator[None]:
    """Drop the databases of a module when its tests are over: hundreds would fill the memory."""
    yield
    drop_databases()


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Real data, where there is any."""
    root = Path(os.environ.get("TURNLOG_CORPUS", Path(__file__).parents[2] / "shared" / "corpus")).resolve()
    if not root.is_dir():
        pytest.skip(f"no corpus at {root}")
    return root


@pytest.fixture(scope="session")
def corpus_archive(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> CorpusArchive:
    """The archive of all of the corpus, which all processes of a run read."""
    own = tmp_path_factory.getbasetemp()
    return share_archive(corpus, own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say something that the run shows at its end, whichever process the test is in."""
    return lambda text: request.node.user_properties.append(("report", text))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what tests reported."""
    for outcome in ("passed", "failed"):
        for result in terminalreporter.getreports(outcome):
            for name, text in result.user_properties:
                if name == "report":
                    terminalreporter.section(result.head_line or result.nodeid)
                    terminalreporter.write_line(str(text))
