"""Finding sessions, and nothing outside of them."""

from __future__ import annotations

import importlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from golden import DATA
from turnlog.transcripts.session_files import (
    AgentFiles,
    Located,
    Obstacle,
    ObstacleKind,
    SessionFiles,
    WorkflowFiles,
    find_offloaded,
    list_config_dirs,
    locate_path,
    locate_sessions,
    project_folder_name,
    project_name,
)

CONFIG = DATA / "transcripts" / "layout" / "claude"
PROJECT = CONFIG / "projects" / "-home-ada-engine"
NOBODY = 65534
FIRST, SECOND, GONE = (f"8d0f6f0e-0000-4000-8000-00000000000{n}" for n in (1, 2, 3))
HOME = Path("/home/ada")


def session(found: Located, session_id: str) -> SessionFiles:
    [only] = [each for each in found.sessions if each.session_id == session_id]
    return only


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A copy of the layout that a test may change."""
    return Path(shutil.copytree(CONFIG, tmp_path / "claude"))


def test_sessions_of_both_roots_are_found_in_order() -> None:
    found = locate_sessions([CONFIG])
    assert [(each.project_folder, each.session_id) for each in found.sessions] == [
        ("-home-ada-engine", FIRST),
        ("-home-ada-engine", SECOND),
        ("-home-ada-engine", GONE),
        ("-home-ada-engine", "gone"),
        ("home_ada_engine", "2025-01-29"),
    ]
    assert found.obstacles == ()
    assert locate_sessions([CONFIG]) == found


def test_settled_transcripts_are_left_out_where_nothing_else_belongs_to_them() -> None:
    everything, asked = locate_sessions([CONFIG]), list[str]()

    def is_settled(path: str) -> bool:
        asked.append(path)
        return True

    found = locate_sessions([CONFIG], is_settled)
    alone = [each.path for each in everything.sessions if each not in found.sessions]
    assert asked == [str(path) for path in alone] != []
    assert found == replace(everything, sessions=found.sessions)
    assert all(each.path is None or each.agents or each.others for each in found.sessions)
    assert locate_sessions([CONFIG], lambda _: False) == everything
    assert locate_path(CONFIG, lambda _: True) == found


def test_a_session_comes_with_all_that_its_folder_holds() -> None:
    own = PROJECT / FIRST
    agents = own / "subagents"
    run = agents / "workflows" / "wf_r1"
    found = session(locate_sessions([CONFIG]), FIRST)
    assert found.folder == own
    assert found == SessionFiles(
        session_id=FIRST,
        path=PROJECT / f"{FIRST}.jsonl",
        project_folder="-home-ada-engine",
        agents=(
            AgentFiles("a1", agents / "agent-a1.jsonl", agents / "agent-a1.meta.json"),
            AgentFiles("a3", None, agents / "agent-a3.meta.json"),
            AgentFiles("a2", agents / "deep" / "er" / "agent-a2.jsonl"),
            AgentFiles("a4", run / "agent-a4.jsonl", run_id="wf_r1"),
        ),
        workflows=(
            WorkflowFiles("wf_r1", run / "journal.jsonl", own / "workflows" / "wf_r1.json"),
            WorkflowFiles("wf_r2", None, own / "workflows" / "wf_r2.json"),
        ),
        tool_results=(own / "tool-results" / "toolu_1.txt",),
        meta=(own / "custom-title.json",),
        others=(own / "workflows" / "scripts" / "plan.js",),
    )


def test_agents_beside_their_session_are_found_by_what_their_lines_say() -> None:
    found = locate_sessions([CONFIG])
    assert session(found, SECOND).agents == (
        AgentFiles("b1", PROJECT / "agent-b1.jsonl", PROJECT / "agent-b1.meta.json"),
    )
    orphan = session(found, "gone")
    assert (orphan.path, [agent.agent_id for agent in orphan.agents]) == (None, ["b2"])
    assert [agent.agent_id for agent in found.strays] == ["b3"]


def test_an_agent_cannot_name_a_session_elsewhere(config: Path) -> None:
    agent = config / "projects" / "-home-ada-engine" / "agent-b4.jsonl"
    for name in ("../../x", "..", "/etc", "a\\\\b", "."):
        agent.write_text(f'{{"type":"user","sessionId":"{name}","uuid":"u"}}\n')
        found = locate_sessions([config])
        assert [stray.agent_id for stray in found.strays] == ["b3", "b4"]
        assert len(found.sessions) == 5


def test_a_session_whose_transcript_is_gone_is_still_found() -> None:
    left = session(locate_sessions([CONFIG]), GONE)
    assert (left.path, [path.name for path in left.tool_results]) == (None, ["toolu_9.txt"])


def test_a_config_dir_by_two_names_is_searched_once(config: Path) -> None:
    other = config.with_name("other")
    other.symlink_to(config)
    assert locate_sessions([config, other]) == locate_sessions([config])


def test_a_missing_config_dir_is_an_obstacle(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    [obstacle] = locate_sessions([missing]).obstacles
    assert (obstacle.path, obstacle.kind) == (missing, ObstacleKind.MISSING)


def test_a_config_dir_that_cannot_be_read_is_an_obstacle(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    [obstacle] = locate_sessions([loop]).obstacles
    assert (obstacle.path, obstacle.kind) == (loop, ObstacleKind.UNREADABLE)


def test_a_config_dir_without_sessions_is_just_empty(tmp_path: Path) -> None:
    assert locate_sessions([tmp_path]) == Located()


def test_a_folder_that_cannot_be_listed_is_an_obstacle_and_the_search_goes_on(config: Path) -> None:
    (config / "projects").rename(config / "kept")
    (config / "projects").write_text("no folder")
    found = locate_sessions([config])
    assert [each.session_id for each in found.sessions] == ["2025-01-29"]
    assert [(each.path.name, each.kind) for each in found.obstacles] == [("projects", ObstacleKind.MISSING)]


@contextmanager
def as_ordinary_user(folder: Path) -> Iterator[None]:
    """Give a folder to an ordinary user, and be that user for a while: root may list anything."""
    if os.geteuid() != 0:
        yield
        return
    for path in (folder, *folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_forbidden_folder_is_an_obstacle(config: Path) -> None:
    with TemporaryDirectory() as name:
        # Not in tmp_path, whose parents are closed to anybody else.
        home = shutil.copytree(config, Path(name) / "claude", symlinks=True).parent
        folder = home / "claude" / "projects" / "-home-ada-engine" / FIRST
        with as_ordinary_user(home):
            folder.chmod(0)
            found = locate_sessions([home / "claude"])
            folder.chmod(0o700)
    assert [(each.path, each.kind) for each in found.obstacles] == [(folder, ObstacleKind.UNREADABLE)]
    assert session(found, FIRST).path is not None


def test_links_out_of_a_folder_are_reported_and_not_followed(config: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "agent-x.jsonl").write_text('{"type":"user","sessionId":"s"}\n')
    own = config / "projects" / "-home-ada-engine" / FIRST
    links = [
        own / "subagents" / "agent-x.jsonl",
        own / "subagents" / "deep" / "out",
        own / "tool-results" / "up",
        own.parent / "linked.jsonl",
        config / "projects" / "-linked",
    ]
    targets = [outside / "agent-x.jsonl", outside, Path("../.."), outside / "agent-x.jsonl", outside]
    for link, target in zip(links, targets, strict=True):
        link.symlink_to(target)
    found = locate_sessions([config])
    assert {(each.path, each.kind) for each in found.obstacles} == {
        (link, ObstacleKind.OUTSIDE) for link in links
    }
    assert session(found, FIRST).agents == session(locate_path(own), FIRST).agents
    assert [agent.agent_id for agent in session(found, FIRST).agents] == ["a1", "a3", "a2", "a4"]


def test_links_inside_a_folder_are_followed_to_files_but_not_in_circles(config: Path) -> None:
    own = config / "projects" / "-home-ada-engine" / FIRST
    (own / "subagents" / "deep" / "loop").symlink_to(own / "subagents")
    (own / "tool-results" / "same.txt").symlink_to("toolu_1.txt")
    found = locate_sessions([config])
    assert found.obstacles == ()
    assert [path.name for path in session(found, FIRST).tool_results] == ["same.txt", "toolu_1.txt"]


def test_what_is_no_file_is_an_obstacle(config: Path) -> None:
    project = config / "projects" / "-home-ada-engine"
    os.mkfifo(project / "pipe.jsonl")
    (project / "broken.jsonl").symlink_to("nothing")
    kinds = {(each.path.name, each.kind) for each in locate_sessions([config]).obstacles}
    assert kinds == {("pipe.jsonl", ObstacleKind.UNREADABLE), ("broken.jsonl", ObstacleKind.UNREADABLE)}
    assert locate_path(project / "pipe.jsonl").obstacles == (
        Obstacle(project / "pipe.jsonl", ObstacleKind.UNREADABLE, "not a file"),
    )


def test_a_config_dir_a_root_and_a_project_can_be_given_by_hand() -> None:
    everything = locate_sessions([CONFIG])
    assert locate_path(CONFIG) == everything
    assert locate_path(CONFIG / "projects").sessions == everything.sessions[:4]
    by_hand = locate_path(PROJECT)
    assert [each for each in by_hand.sessions if each.session_id != "notes"] == [*everything.sessions[:4]]


def test_a_transcript_given_by_hand_brings_its_folder_and_agents() -> None:
    everything = locate_sessions([CONFIG])
    for session_id in (FIRST, SECOND):
        found = locate_path(PROJECT / f"{session_id}.jsonl")
        assert found == Located(sessions=(session(everything, session_id),))


def test_a_session_folder_given_by_hand_brings_its_transcript() -> None:
    everything = locate_sessions([CONFIG])
    for session_id in (FIRST, GONE):
        assert locate_path(PROJECT / session_id).sessions == (session(everything, session_id),)


def test_a_renamed_transcript_still_has_its_agents(config: Path) -> None:
    project = config / "projects" / "-home-ada-engine"
    renamed = (project / f"{SECOND}.jsonl").rename(project / "export.txt")
    [found] = locate_path(renamed).sessions
    assert (found.session_id, [agent.agent_id for agent in found.agents]) == ("export", ["b1"])


def test_an_agent_given_by_hand_is_a_stray() -> None:
    path = PROJECT / FIRST / "subagents" / "agent-a1.jsonl"
    assert locate_path(path).strays == (AgentFiles("a1", path, path.with_name("agent-a1.meta.json")),)


def test_a_relative_path_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT / FIRST)
    assert locate_path(Path("..") / f"{FIRST}.jsonl") == locate_path(PROJECT / f"{FIRST}.jsonl")


def test_a_missing_path_is_an_obstacle(tmp_path: Path) -> None:
    [obstacle] = locate_path(tmp_path / "none.jsonl").obstacles
    assert obstacle.kind is ObstacleKind.MISSING


def test_every_folder_is_listed_once(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[str] = []
    scan = os.scandir

    def counting(path: str) -> object:
        listed.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", counting)
    locate_sessions([config])
    monkeypatch.undo()
    folders = {each for root in ("projects", "conversations") for each, _, _ in os.walk(config / root)}
    memory = str(config / "projects" / "-home-ada-engine" / "memory")
    assert sorted(listed) == sorted(folders - {memory})


@pytest.mark.parametrize(
    "said",
    [
        "toolu_1.txt",
        "tool-results/toolu_1.txt",
        f"/Users/someone/.claude/projects/-x/{FIRST}/tool-results/toolu_1.txt",
        f"C:\\Users\\someone\\.claude\\projects\\-x\\{FIRST}\\tool-results\\toolu_1.txt",
        "../tool-results/toolu_1.txt",
    ],
)
def test_a_large_result_is_found_by_name_or_path(said: str) -> None:
    path = PROJECT / FIRST / "tool-results" / "toolu_1.txt"
    assert find_offloaded(session(locate_sessions([CONFIG]), FIRST), said) == path


@pytest.mark.parametrize(
    "said",
    [
        "",
        ".",
        "none.txt",
        "/etc/passwd",
        f"../../{FIRST}.jsonl",
        f"tool-results/../../{FIRST}.jsonl",
        "tool-results//etc/passwd",
        "tool-results/../../../../../../../../../../etc/passwd",
        "tool-results",
        "a\0b",
        "tool-results/" + "x" * 5000,
        "\ud800",
    ],
)
def test_a_path_that_leaves_the_session_finds_nothing(said: str) -> None:
    assert find_offloaded(session(locate_sessions([CONFIG]), FIRST), said) is None


def test_a_result_that_is_a_link_out_of_the_session_is_not_found(config: Path) -> None:
    found = session(locate_sessions([config]), FIRST)
    (found.folder / "tool-results" / "out.txt").symlink_to("/etc/passwd")
    (found.folder / "tool-results" / "in.txt").symlink_to("toolu_1.txt")
    assert find_offloaded(found, "out.txt") is None
    assert find_offloaded(found, "in.txt") == found.folder / "tool-results" / "in.txt"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, ["/home/ada/.claude", "/home/ada/.config/claude"]),
        ({"CLAUDE_CONFIG_DIR": " , "}, ["/home/ada/.claude", "/home/ada/.config/claude"]),
        ({"XDG_CONFIG_HOME": "/xdg"}, ["/home/ada/.claude", "/xdg/claude"]),
        ({"CLAUDE_CONFIG_DIR": "/a"}, ["/a"]),
        ({"CLAUDE_CONFIG_DIR": "/a, /b,/a"}, ["/a", "/b"]),
        ({"CLAUDE_CONFIG_DIR": f"/a{os.pathsep}~/b{os.pathsep}~"}, ["/a", "/home/ada/b", "/home/ada"]),
    ],
)
def test_config_dirs_come_from_the_environment_or_the_usual_places(
    env: dict[str, str], expected: list[str]
) -> None:
    assert list_config_dirs(env, HOME) == [Path(each) for each in expected]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ada/engine", "-home-ada-engine"),
        ("/home/ada/.my_engine@2 b", "-home-ada--my-engine-2-b"),
        ("/home/ada/e\u0301tude", "-home-ada--tude"),
        ("/home/ada/\U0001f600", "-home-ada---"),
        ("C:\\ada", "C--ada"),
        ("/" + "a" * 199, "-" + "a" * 199),
        ("/" + "a" * 200, "-" + "a" * 199 + "-b6ymvl"),
        ("/" + "\U0001f600é" * 90, "-" * 200 + "-urw7xr"),
    ],
)
def test_project_folders_are_named_as_the_program_names_them(path: str, name: str) -> None:
    assert project_folder_name(path) == name


def test_long_folder_names_agree_with_the_official_sdk(tmp_path: Path) -> None:
    sdk = importlib.import_module("claude_agent_sdk")
    for path in (tmp_path / "short", tmp_path / ("long" * 60), tmp_path / "é.x" / ("b_" * 110)):
        assert project_folder_name(str(path)) == sdk.project_key_for_directory(path)


@pytest.mark.parametrize(
    ("cwds", "folder", "name"),
    [
        ([], "-home-ada-my-engine", "-home-ada-my-engine"),
        (["", ""], "-x", "-x"),
        (["/home/ada/my-engine"], "-home-ada-my-engine", "/home/ada/my-engine"),
        (["/home/ada/my.engine/docs", "/home/ada/my.engine"], "-home-ada-my-engine", "/home/ada/my.engine"),
        (["/elsewhere", "/other"], "-home-ada-my-engine", "/elsewhere"),
        (["/x", "/" + "a" * 300], "-" + "a" * 199 + "-otherhash", "/" + "a" * 300),
    ],
)
def test_a_project_is_named_after_the_directory_its_folder_is_named_after(
    cwds: list[str], folder: str, name: str
) -> None:
    assert project_name(cwds, folder) == name


def test_every_transcript_of_the_real_data_is_found(corpus: Path) -> None:
    found = locate_path(corpus / "sessions")
    agents = [*found.strays, *(agent for each in found.sessions for agent in each.agents)]
    paths = [
        path for path in (*(each.path for each in found.sessions), *(each.path for each in agents)) if path
    ]
    assert sorted(paths) == sorted((corpus / "sessions").rglob("*.jsonl"))
    assert found.obstacles == ()
