"""Which flags of a person's own session a resumed one keeps."""

from pathlib import Path

import pytest

from upcall.doors.pipe.own_flags import kept_flags, session_in


@pytest.mark.promise("trust/85")
def test_servers_are_kept_and_their_files_are_named_from_the_root(tmp_path: Path) -> None:
    (tmp_path / "one.json").touch()
    words = [
        "claude",
        "-p",
        "--mcp-config",
        "one.json",
        '{"mcpServers":{}}',
        "--strict-mcp-config",
        "--verbose",
    ]
    assert kept_flags("claude", words, str(tmp_path)) == [
        "--mcp-config",
        str(tmp_path / "one.json"),
        '{"mcpServers":{}}',
        "--strict-mcp-config",
    ]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("claude", ["claude", "--dangerously-skip-permissions", "--permission-mode", "bypassPermissions"]),
        ("claude", ["claude", "--allowedTools", "Bash", "--settings", "{}"]),
        (
            "codex",
            ["codex", "exec", "-c", 'approval_policy="never"', "-c", 'sandbox_mode="danger-full-access"'],
        ),
        ("codex", ["codex", "--dangerously-bypass-approvals-and-sandbox", "--yolo"]),
        ("gemini", ["gemini", "--yolo", "--approval-mode", "yolo"]),
        ("opencode", ["opencode", "run", "--auto"]),
        ("claude", ["claude", "--", "--mcp-config", "words of a prompt"]),
        ("claude", ["claude", "--mcp-config"]),
        ("unknown", ["unknown", "--mcp-config", "x"]),
    ],
)
def test_what_gives_permission_or_is_no_flag_is_not_kept(program: str, words: list[str]) -> None:
    assert kept_flags(program, words, "/") == []


def test_servers_and_models_of_codex_are_kept() -> None:
    words = ["codex", "exec", "--json", "-c", "mcp_servers.x={}", "-c", "web_search=true", "-m", "gpt-5"]
    assert kept_flags("codex", words, "/") == ["-c", "mcp_servers.x={}", "-m", "gpt-5"]


@pytest.mark.promise("trust/72")
@pytest.mark.parametrize(
    ("program", "words", "session"),
    [
        ("opencode", ["opencode", "run", "-s", "ses_1abc"], "ses_1abc"),
        ("opencode", ["opencode", "--session=ses_1abc"], "ses_1abc"),
        ("gemini", ["gemini", "--session-id", "3f0e6a52-8f5d", "-p", "x"], "3f0e6a52-8f5d"),
        ("gemini", ["gemini", "--resume", "latest"], None),
        ("gemini", ["gemini", "--resume", "5"], None),
        ("opencode", ["opencode", "run", "--continue"], None),
        ("claude", ["claude", "--session-id", "3f0e6a52-8f5d"], None),
    ],
)
def test_a_session_is_known_where_the_command_line_names_it(
    program: str, words: list[str], session: str | None
) -> None:
    assert session_in(program, words) == session
