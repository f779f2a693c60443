"""Services: the files of systemd and launchd, and what is said to them."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from turnlog.errors import ServiceError
from turnlog.ingest.services import LABEL, MARK, UNIT, InstallOutcome, Job, Launchd, Service, Systemd

RECORD = """\
#!/bin/sh
printf '%s' "$(basename "$0")" >> "$CALLS"
for each in "$@"; do printf ' %s' "$each" >> "$CALLS"; done
echo >> "$CALLS"
if [ -f "$ANSWERS/$(basename "$0") $*" ]; then cat "$ANSWERS/$(basename "$0") $*"; fi
exit ${EXIT:-0}
"""
NASTY = "a b%h\"q'\\x$HOME;é<&>"


class System:
    """A folder with the system's programs in it: scripts that note how they were called."""

    def __init__(self, folder: Path, *programs: str) -> None:
        self.home = folder / "home"
        self._calls = folder / "calls"
        self._answers = folder / "answers"
        self._answers.mkdir()
        self.programs = folder / "bin"
        self.programs.mkdir()
        for program in programs:
            (self.programs / program).write_text(RECORD)
            (self.programs / program).chmod(0o755)
        for program in ("sh", "basename", "cat"):
            found = shutil.which(program)
            assert found
            (self.programs / program).symlink_to(found)
        self.environment = {
            "PATH": os.fspath(self.programs),
            "CALLS": os.fspath(self._calls),
            "ANSWERS": os.fspath(self._answers),
        }

    def answer(self, command: str, text: str) -> None:
        (self._answers / command).write_text(text)

    def take_calls(self) -> list[str]:
        calls = self._calls.read_text().splitlines() if self._calls.exists() else []
        self._calls.unlink(missing_ok=True)
        return calls


@pytest.fixture
def system(tmp_path: Path) -> System:
    return System(tmp_path, "systemctl", "journalctl", "launchctl")


def job(home: str = "/data/turnlog", python: str = "/usr/bin/python3") -> Job:
    return Job(
        command=(python, "-m", "turnlog", "sync", "--watch"),
        environment={"TURNLOG_HOME": home},
        log=Path("/data/service.log"),
    )


def test_a_unit_is_installed_and_started(system: System) -> None:
    service = Systemd(system.home, system.environment)
    outcome, steps = service.install(job())
    assert outcome is InstallOutcome.NEW
    assert [step.status for step in steps] == [0, 0]
    assert system.take_calls() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable --now turnlog.service",
    ]
    assert service.path == system.home / ".config" / "systemd" / "user" / UNIT
    assert service.path.read_text() == (
        f"# {MARK}\n"
        "[Unit]\n"
        "Description=turnlog: archive what Claude Code writes\n"
        "\n"
        "[Service]\n"
        "Type=exec\n"
        'ExecStart="/usr/bin/python3" "-m" "turnlog" "sync" "--watch"\n'
        'Environment="TURNLOG_HOME=/data/turnlog"\n'
        "Restart=on-failure\n"
        "RestartSec=10\n"
        "RestartPreventExitStatus=2\n"
        "Nice=10\n"
        "IOSchedulingClass=idle\n"
        "UMask=0077\n"
        "\n"
        "[Install]\n"
        "WantedBy=default.target\n"
    )


def test_units_are_where_systemd_looks_for_them(system: System) -> None:
    environment = {**system.environment, "XDG_CONFIG_HOME": "/elsewhere"}
    assert Systemd(system.home, environment).path == Path("/elsewhere/systemd/user/turnlog.service")


def test_installing_twice_changes_nothing(system: System) -> None:
    service = Systemd(system.home, system.environment)
    service.install(job())
    system.take_calls()
    before = service.path.stat()
    outcome, steps = service.install(job())
    after = service.path.stat()
    assert outcome is InstallOutcome.UNCHANGED
    assert [step.status for step in steps] == [0]
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert system.take_calls() == ["systemctl --user enable --now turnlog.service"]


def test_a_changed_unit_is_restarted(system: System) -> None:
    service = Systemd(system.home, system.environment)
    service.install(job())
    system.take_calls()
    outcome, _ = service.install(job("/other"))
    assert outcome is InstallOutcome.CHANGED
    assert "/other" in service.path.read_text()
    assert system.take_calls()[-1] == "systemctl --user restart turnlog.service"
    assert os.listdir(service.path.parent) == [UNIT]


@pytest.mark.parametrize("kind", [Systemd, Launchd])
def test_a_file_of_somebody_else_is_left_alone(system: System, kind: type[Systemd | Launchd]) -> None:
    service = kind(system.home, system.environment)
    service.path.parent.mkdir(parents=True)
    service.path.write_text("[Unit]\n")
    with pytest.raises(ServiceError, match="not written by turnlog"):
        service.install(job())
    with pytest.raises(ServiceError, match="not written by turnlog"):
        service.uninstall()
    assert service.path.read_text() == "[Unit]\n"
    assert system.take_calls() == []
    status = service.ask()
    assert (status.installed, status.ours) == (True, False)


def test_a_unit_is_stopped_and_removed(system: System) -> None:
    service = Systemd(system.home, system.environment)
    service.install(job())
    system.take_calls()
    assert service.uninstall()[0] is InstallOutcome.REMOVED
    assert not service.path.exists()
    assert system.take_calls() == [
        "systemctl --user disable --now turnlog.service",
        "systemctl --user daemon-reload",
    ]
    assert service.uninstall() == (InstallOutcome.MISSING, [])
    assert system.take_calls() == []


def test_without_systemctl_the_file_is_written_and_the_rest_is_told(tmp_path: Path) -> None:
    system = System(tmp_path)
    service = Systemd(system.home, system.environment)
    outcome, steps = service.install(job())
    assert outcome is InstallOutcome.NEW
    assert service.path.exists()
    assert [step.status for step in steps] == [None, None]
    assert steps[0].output == "systemctl: no such program"
    assert service.ask().running is None
    assert service.uninstall()[0] is InstallOutcome.REMOVED


def test_what_systemctl_says_when_it_fails_is_told(system: System) -> None:
    system.answer("systemctl --user daemon-reload", "Failed to connect to bus\n")
    service = Systemd(system.home, {**system.environment, "EXIT": "1"})
    _, [reload, enable] = service.install(job())
    assert (reload.status, reload.output) == (1, "Failed to connect to bus")
    assert enable.status is None
    assert len(system.take_calls()) == 1


@pytest.mark.parametrize(
    ("answer", "running", "state"),
    [
        ("ActiveState=active\nSubState=running\nResult=success\n", True, "active, running, success"),
        ("ActiveState=failed\nSubState=failed\nResult=exit-code\n", False, "failed, failed, exit-code"),
        ("", None, ""),
    ],
)
def test_systemd_is_asked_how_it_is_doing(
    system: System, answer: str, running: bool | None, state: str
) -> None:
    service = Systemd(system.home, system.environment)
    service.install(job())
    show = f"systemctl --user show {UNIT} --property=ActiveState,SubState,Result"
    journal = f"journalctl --user --unit {UNIT} --lines 5 --output cat --no-pager --quiet"
    system.answer(show, answer)
    system.answer(journal, "first\nlast\n")
    system.take_calls()
    status = service.ask()
    assert (status.installed, status.ours, status.running, status.state) == (True, True, running, state)
    assert status.last_log_lines == ("first", "last")
    assert system.take_calls() == [show, journal]


def test_what_is_not_installed_has_no_last_log_lines(system: System) -> None:
    status = Systemd(system.home, system.environment).ask()
    assert (status.installed, status.ours, status.last_log_lines) == (False, False, ())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("/a b", '"/a b"'),
        ("/100%h", '"/100%%h"'),
        ("/$HOME", '"/$HOME"'),
    ],
)
def test_the_path_of_the_program_is_escaped(system: System, text: str, written: str) -> None:
    unit = Systemd(system.home, system.environment).render(job(python=text))
    assert f'ExecStart={written} "-m" ' in unit


def test_a_program_that_systemd_would_refuse_is_started_by_a_shell(system: System) -> None:
    unit = Systemd(system.home, system.environment).render(job(python="/it's/$python"))
    assert 'ExecStart="/bin/sh" "-c" "exec \\"$$0\\" \\"$$@\\"" "/it\'s/$$python" "-m" ' in unit


def test_what_is_set_is_escaped(system: System) -> None:
    unit = Systemd(system.home, system.environment).render(job(f"/{NASTY}"))
    assert 'Environment="TURNLOG_HOME=/a b%%h\\"q\'\\\\x$HOME;é<&>"\n' in unit


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here to ask")
@pytest.mark.parametrize("name", ["python", "py thon%h$HOME", NASTY])
def test_systemd_understands_the_unit(system: System, tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / UNIT
    path.write_text(Systemd(system.home, system.environment).render(job(f"/{NASTY}", os.fspath(program))))
    ran = subprocess.run(
        ["systemd-analyze", "--user", "verify", path],
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": os.fspath(tmp_path), "XDG_RUNTIME_DIR": os.fspath(tmp_path)},
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("kind", [Systemd, Launchd])
@pytest.mark.parametrize("text", ["/a\0b", "/a\x1bb", "/a\udcffb"])
def test_names_that_a_file_cannot_hold_are_refused(
    system: System, kind: type[Systemd | Launchd], text: str
) -> None:
    service: Service = kind(system.home, system.environment)
    with pytest.raises(ServiceError, match="cannot read the characters"):
        service.install(job(text))
    assert not service.path.exists()


def test_an_agent_s_property_list_says_what_to_run(system: System) -> None:
    service = Launchd(system.home, system.environment)
    text = service.render(job(f"/{NASTY}"))
    assert text.count(MARK) == 1
    assert plistlib.loads(text.encode()) == {
        "Label": LABEL,
        "ProgramArguments": ["/usr/bin/python3", "-m", "turnlog", "sync", "--watch"],
        "EnvironmentVariables": {"TURNLOG_HOME": f"/{NASTY}"},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ProcessType": "Background",
        "LowPriorityIO": True,
        "Nice": 10,
        "Umask": 0o077,
        "StandardOutPath": "/data/service.log",
        "StandardErrorPath": "/data/service.log",
    }


def test_an_agent_is_loaded_once(system: System) -> None:
    service = Launchd(system.home, system.environment)
    domain = f"gui/{os.getuid()}"
    load = f"launchctl bootstrap {domain} {service.path}"
    assert service.path == system.home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    assert service.install(job())[0] is InstallOutcome.NEW
    assert system.take_calls() == [load]
    assert service.install(job())[0] is InstallOutcome.UNCHANGED
    assert system.take_calls() == [f"launchctl list {LABEL}"]
    assert service.install(job("/other"))[0] is InstallOutcome.CHANGED
    assert system.take_calls()[1:] == [f"launchctl bootout {domain}/{LABEL}", load]
    assert service.uninstall()[0] is InstallOutcome.REMOVED
    assert system.take_calls() == [f"launchctl bootout {domain}/{LABEL}"]


def test_an_agent_that_is_not_loaded_is_loaded_again(system: System) -> None:
    Launchd(system.home, system.environment).install(job())
    system.take_calls()
    Launchd(system.home, {**system.environment, "EXIT": "113"}).install(job())
    assert [call.split()[1] for call in system.take_calls()] == ["list", "bootstrap"]


def test_launchd_is_asked_how_it_is_doing(system: System, tmp_path: Path) -> None:
    service = Launchd(system.home, system.environment)
    log = tmp_path / "service.log"
    log.write_text("".join(f"line {number}\n" for number in range(1000)))
    service.install(Job(command=("/usr/bin/python3",), environment={}, log=log))
    system.answer(f"launchctl list {LABEL}", '{\n\t"PID" = 4711;\n\t"LastExitStatus" = 0;\n};\n')
    status = service.ask()
    assert (status.running, status.state) == (True, "process 4711")
    assert status.last_log_lines == tuple(f"line {number}" for number in range(995, 1000))
    system.answer(f"launchctl list {LABEL}", '{\n\t"LastExitStatus" = 256;\n};\n')
    status = service.ask()
    assert (status.running, status.state) == (False, "last exit status 256")
    log.unlink()
    assert service.ask().last_log_lines == ()
