"""`upcall mcp` as a real process, between a scripted agent and a daemon that comes and goes."""

import json
import os
import socket
import threading
from pathlib import Path
from typing import Self

import pytest

from tests.doors.agent import INITIALIZE, MODERN, PATIENCE, agent
from tests.doors.house import AGENT_TOKEN, OTHER_TOKEN, House
from upcall.home.files import Home

QUESTION = {"question": "Which cache?", "options": ["Redis", "None"]}


@pytest.mark.promise("spec/57")
def test_a_question_goes_through_and_the_answer_comes_back(house: House) -> None:
    with agent(
        house.home, UPCALL_WAIT="block", CLAUDE_CODE_SESSION_ID="s1", CLAUDE_PROJECT_DIR="/w"
    ) as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        house.answer(inquiry.id, "1")
        result = someone.reply(1)["result"]
        assert result["structuredContent"]["answers"] == [["Redis"]]
        assert not result["isError"]
        assert (inquiry.origin.session, inquiry.origin.workspace) == ("s1", "/w")
        assert (inquiry.origin.agent, inquiry.origin.door) == ("local", "mcp-pipe")
        assert (inquiry.origin.request_key or "").endswith(":1")


def test_both_protocol_eras_are_spoken(house: House) -> None:
    with agent(house.home) as someone:
        found = someone.ask(1, "server/discover", {"_meta": MODERN})["result"]
        assert found["supportedVersions"] == ["2026-07-28"]
        tools = someone.ask(2, "tools/list", {"_meta": MODERN})["result"]
        assert tools["resultType"] == "complete"
        assert "ask_human" in [tool["name"] for tool in tools["tools"]]


def test_the_pipe_acknowledges_an_answer_that_its_agent_has_taken(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        house.answer(house.opened()[0].id, "1")
        someone.reply(1)
        assert house.happened("collected").data["evidence"] == "acknowledged"


def test_a_call_may_name_its_thread(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION, **{"upcall/thread": "shop-42"})
        [inquiry] = house.opened()
        assert inquiry.origin.thread == "shop-42"
        house.answer(inquiry.id, "1")
        assert someone.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]
        assert house.happened("collected").inquiry == inquiry.id


def test_an_acknowledgement_that_was_lost_is_said_again_to_the_next_daemon(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone, monkeypatch.context() as deaf:
        deaf.setattr("upcall.doors.mcp.conversation.Conversation._taken", lambda self, inquiry: None)
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        house.answer(house.opened()[0].id, "1")
        someone.reply(1)
        house.crash()
        deaf.undo()
        house.start()
        someone.ask(2, "ping")
        assert house.happened("collected").data["evidence"] == "acknowledged"


def test_a_question_whose_answer_the_agent_has_is_put_to_people_again_after_a_crash(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = threading.Event()
    with agent(house.home, UPCALL_WAIT="block") as someone, monkeypatch.context() as deaf:
        deaf.setattr("upcall.doors.mcp.conversation.Conversation._taken", lambda self, inquiry: heard.set())
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [first] = house.opened()
        house.answer(first.id, "1")
        someone.reply(1)
        assert heard.wait(PATIENCE)
        house.crash()
        deaf.undo()
        house.start()
        someone.call(2, "ask_human", QUESTION)
        [second] = house.opened()
        assert second.id != first.id
        house.answer(second.id, "2")
        assert someone.reply(2)["result"]["structuredContent"]["answers"] == [["None"]]


@pytest.mark.promise("spec/41")
@pytest.mark.parametrize("gracefully", [True, False], ids=["restart", "crash"])
def test_a_call_survives_the_daemon_and_nothing_is_asked_twice(house: House, *, gracefully: bool) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION, progressToken="p")
        [inquiry] = house.opened()
        house.stop() if gracefully else house.crash()
        house.start()
        house.answer(inquiry.id, "2")
        assert someone.reply(1)["result"]["structuredContent"]["id"] == inquiry.id
        assert house.history().count("asked") == 1
        assert not someone.has_reply("init")
        assert "tools" in someone.ask(2, "tools/list")["result"]


@pytest.mark.promise("trust/74")
@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
@pytest.mark.parametrize("restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize("answered", ["before", "after"])
def test_a_question_that_is_repeated_after_it_was_given_up_is_put_to_people_once(
    house: House, answered: str, *, restarted: bool, remote: bool
) -> None:
    there = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN} if remote else {}
    with agent(house.home, UPCALL_WAIT="block", **there) as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        someone.send("notifications/cancelled", {"requestId": 1})
        assert someone.ask(2, "ping")["result"] == {}
        if answered == "before":
            house.answer(inquiry.id, "2")
        if restarted:
            house.stop()
            house.start()
        someone.call(3, "ask_human", QUESTION)
        if answered == "after":
            house.answer(inquiry.id, "2")
        told = someone.reply(3)["result"]["structuredContent"]
        assert (told["id"], told["answers"]) == (inquiry.id, [["None"]])
        assert house.happened("collected").inquiry == inquiry.id
        # The agent has it: the same words are another question now.
        someone.call(4, "ask_human", QUESTION)
        [other] = house.opened()
        assert other.id != inquiry.id
        assert house.history().count("asked") == 2


@pytest.mark.promise("trust/74")
def test_the_same_words_of_another_client_or_session_are_another_question(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as one, agent(house.home, UPCALL_WAIT="block") as other:
        for someone in (one, other):
            someone.initialize()
            someone.call(1, "ask_human", QUESTION)
        one.call(2, "ask_human", QUESTION, **{"upcall/session": "s1"})
        one.call(3, "ask_human", QUESTION, **{"upcall/session": "s2"})
        one.call(4, "ask_human", {**QUESTION, "context": "It is for the tests."})
        assert len(house.opened(5)) == 5


@pytest.mark.promise("trust/75")
def test_an_approval_that_comes_late_is_good_for_one_more_call(house: House) -> None:
    action = {"action": "rm -r build"}
    with agent(house.home, UPCALL_WAIT="block", CLAUDE_CODE_SESSION_ID="s1") as someone:
        someone.initialize()
        someone.call(1, "confirm_action", action)
        [inquiry] = house.opened()
        someone.send("notifications/cancelled", {"requestId": 1})
        assert someone.ask(2, "ping")["result"] == {}
        house.answer(inquiry.id, "yes")
        someone.call(3, "confirm_action", action)
        assert someone.reply(3)["result"]["structuredContent"]["answers"] == [["Approve"]]
        someone.call(4, "confirm_action", action)
        [again] = house.opened()
        assert again.id != inquiry.id


@pytest.mark.promise("trust/80")
@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
@pytest.mark.parametrize(
    ("client", "shown"),
    [
        ("claude-code", "claude-code in shop"),
        ("codex-mcp-client", "codex in shop"),
        ("A person you trust\n", "local"),
        ("x" * 41, "local"),
    ],
)
def test_a_session_of_ones_own_is_named_after_its_client_and_its_folder(
    house: House, client: str, shown: str, *, remote: bool
) -> None:
    there = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN} if remote else {}
    with agent(house.home, CLAUDE_PROJECT_DIR="/srv/shop/", **there) as someone:
        info = {"name": client, "version": "1"}
        assert "result" in someone.ask("init", "initialize", {**INITIALIZE, "clientInfo": info})
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        assert (inquiry.origin.agent, inquiry.origin.asker) == ("local", shown)


@pytest.mark.promise("trust/80")
def test_a_token_with_a_name_of_its_own_keeps_that_name(house: House, tmp_path: Path) -> None:
    environ = {"UPCALL_URL": house.url, "UPCALL_TOKEN": OTHER_TOKEN}
    with agent(Home(tmp_path / "elsewhere"), **environ) as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        assert house.opened()[0].origin.asker == "other"


def test_an_answer_given_while_the_pipe_was_cut_off_arrives(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.send("server/discover", {"_meta": MODERN}, request_id="d")
        someone.reply("d")
        someone.call(1, "ask_human", QUESTION, **MODERN)
        [inquiry] = house.opened()
        # The pipe does not find the daemon before its runtime file is there, so the answer comes first.
        house.crash()
        house.start(announced=False)
        house.answer(inquiry.id, "2")
        house.announce()
        result = someone.reply(1)["result"]
        assert result["structuredContent"]["answers"] == [["None"]]
        assert result["resultType"] == "complete"


def test_a_call_made_while_there_is_no_daemon_waits_for_the_restart(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        house.stop()
        # Alive, but not listening: what a daemon looks like while it is being replaced.
        told = f'{{"pid": {os.getpid()}, "url": "", "pipe_port": 1, "token": "", "version": ""}}'
        house.home.write_private(house.home.runtime_file, told)
        someone.call(1, "ask_human", QUESTION)
        house.start()
        house.answer(house.opened()[0].id, "1")
        assert "result" in someone.reply(1)
        assert house.history().count("asked") == 1


@pytest.mark.promise("spec/42")
def test_putting_upcall_down_parks_the_calls_and_starts_nothing(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        house.home.write_private(house.home.down_mark, "")
        house.stop(end=True)
        parked = someone.reply(1)["result"]
        assert parked["structuredContent"] == {
            "status": "parked",
            "id": inquiry.id,
            "ref": inquiry.ref,
            "message": parked["content"][0]["text"],
        }
        assert not parked["isError"]
        someone.call(2, "ask_human", QUESTION)
        refused = someone.reply(2)["result"]
        assert refused["isError"]
        assert "upcall up" in refused["content"][0]["text"]
        assert "upcall up" in someone.ask(3, "tools/list")["error"]["message"]
        assert not house.home.log_file.exists()


def test_a_daemon_that_vanished_for_good_leaves_its_calls_parked_by_name(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        someone.ask("settle", "ping")
        house.home.write_private(house.home.down_mark, "")
        house.crash()
        parked = someone.reply(1)["result"]
        assert parked["structuredContent"] == {
            "status": "parked",
            "id": inquiry.id,
            "ref": inquiry.ref,
            "message": parked["content"][0]["text"],
        }
        assert inquiry.id in parked["content"][0]["text"]
        assert house.home.running() is None


def test_after_being_put_down_and_up_again_the_same_pipe_works_again(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        house.home.write_private(house.home.down_mark, "")
        house.stop(end=True)
        assert "error" in someone.ask(1, "tools/list")
        house.home.down_mark.unlink()
        house.start()
        assert "result" in someone.ask(2, "tools/list")


def test_hanging_up_ends_the_pipe_and_leaves_the_question_open(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        assert someone.hang_up() == 0
        assert house.run(house.broker.store.get(inquiry.id)).is_open


def test_what_needs_no_human_is_answered_even_after_hanging_up(house: House) -> None:
    with agent(house.home) as someone:
        someone.send("initialize", {"protocolVersion": "2025-06-18"}, request_id=1)
        someone.send("ping", request_id=2)
        assert someone.hang_up() == 0
        assert someone.reply(2)["result"] == {}
        assert someone.reply(1)["error"]["code"] == -32602


def test_progress_only_grows_for_the_agent_across_a_restart(tmp_path: Path) -> None:
    house = House(tmp_path / "home")
    house.beat = 0.1
    house.start()
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION, progressToken="p")
        values = [someone.notifications.get(timeout=PATIENCE)["params"]["progress"] for _ in range(2)]
        house.stop()
        house.start()
        values += [someone.notifications.get(timeout=PATIENCE)["params"]["progress"] for _ in range(2)]
        assert values == sorted(set(values))
    house.stop()


def test_a_daemon_that_cannot_be_started_is_an_error_for_every_request(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    home.config_file.write_text("this is not [ TOML")
    with agent(home) as someone:
        for number, method in enumerate(["initialize", "tools/list", "tools/call"]):
            someone.send(method, {"name": "ask_human"}, request_id=number)
            error = someone.reply(number)["error"]
            assert "could not be started" in error["message"]


@pytest.mark.promise("spec/190")
def test_a_daemon_is_started_when_none_runs_and_only_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    with agent(home) as first, agent(home) as second:
        try:
            assert "result" in first.ask(1, "server/discover", {"_meta": MODERN})
            assert "result" in second.ask(1, "server/discover", {"_meta": MODERN})
            running = home.running()
            assert running is not None
        finally:
            stop(home)


def stop(home: Home) -> None:
    """End a daemon that a pipe has started, and wait until it has ended."""
    from upcall.home.instance import stop_running

    assert stop_running(home)


@pytest.mark.promise("spec/195")
def test_an_older_pipe_is_served_by_a_newer_daemon(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upcall.doors.pipe.hello.PIPE_PROTOCOL", 7)
    with agent(house.home) as someone:
        assert "result" in someone.ask(1, "server/discover", {"_meta": MODERN})


def test_a_daemon_too_old_for_the_pipe_is_said_plainly(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("upcall.doors.pipe.hello.PIPE_PROTOCOL", 0)
    monkeypatch.setattr("upcall.doors.mcp.conversation.Conversation.receive", lambda self, line: None)
    with agent(house.home) as someone:
        assert "--replace" in someone.ask(1, "tools/list", {"_meta": MODERN})["error"]["message"]


def test_a_token_that_is_unknown_is_said_plainly(house: House) -> None:
    assert house.run(house.access.revoke("local"))
    with agent(house.home) as someone:
        assert "token" in someone.ask(1, "ping")["error"]["message"]


def test_a_token_that_is_revoked_ends_the_connection(house: House) -> None:
    with agent(house.home) as someone:
        someone.initialize()
        assert house.run(house.access.revoke("local"))
        assert "token" in someone.ask(1, "ping")["error"]["message"]


@pytest.mark.parametrize("remote", [False, True])
def test_a_token_that_is_revoked_does_not_get_the_answer_it_waited_for(
    house: House, tmp_path: Path, *, remote: bool
) -> None:
    over_http = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN} if remote else {}
    home = Home(tmp_path / "elsewhere") if remote else house.home
    with agent(home, UPCALL_WAIT="block", **over_http) as someone:
        someone.initialize()
        someone.call(1, "ask_human", {"question": "Which password?", "secret": True})
        [inquiry] = house.opened()
        assert house.run(house.access.revoke("local"))
        house.answer(inquiry.id, "hunter2")
        told = someone.reply(1)
        assert told["result"]["structuredContent"]["error"]["code"] == "unauthenticated"
        assert "hunter2" not in json.dumps(told)
        house.run(house.tools.evidence.settled())
        assert "collected" not in house.history()


def test_an_id_that_is_used_again_is_another_question(house: House) -> None:
    with agent(house.home, UPCALL_WAIT="block") as someone:
        someone.initialize()
        for word in ("first", "second"):
            someone.call(1, "ask_human", {"question": word})
            house.answer(house.opened()[0].id, word)
            assert someone.reply(1)["result"]["structuredContent"]["answers"] == [[word]]


def test_malformed_lines_are_answered_and_the_pipe_goes_on(house: House) -> None:
    with agent(house.home) as someone:
        for line, code in [
            (b"{", -32700),
            (b"\xff\xfe", -32700),
            (b"[" * 100_000, -32600),
            (b"[]", -32600),
            (b"5", -32600),
            (b"{}", -32600),
            (b'{"method": "ping", "id": 1.5}', -32600),
            (b'{"method": "ping", "id": null}', -32600),
            (b"x" * (9 * 1024 * 1024), -32600),
        ]:
            someone.send_line(line)
            assert someone.reply(None)["error"]["code"] == code
        someone.send_line(b"")
        assert someone.ask(1, "ping")["result"] == {}


def test_a_remote_daemon_is_reached_over_http(house: House, tmp_path: Path) -> None:
    elsewhere = Home(tmp_path / "elsewhere")
    environ = {"UPCALL_URL": house.url, "UPCALL_TOKEN": OTHER_TOKEN, "UPCALL_WAIT": "block"}
    with agent(elsewhere, **environ) as someone:
        someone.initialize()
        assert "tools" in someone.ask(1, "tools/list")["result"]
        someone.call(2, "ask_human", QUESTION)
        [inquiry] = house.opened()
        house.answer(inquiry.id, "1")
        assert someone.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]
        assert inquiry.origin.agent == "other"
        collected = house.happened("collected")
        assert (collected.inquiry, collected.data["evidence"]) == (inquiry.id, "acknowledged")


def test_a_remote_call_is_sent_again_when_its_connection_breaks(house: House, tmp_path: Path) -> None:
    gate = Gate(house.port)
    environ = {"UPCALL_URL": gate.url, "UPCALL_TOKEN": AGENT_TOKEN, "UPCALL_WAIT": "block"}
    with gate, agent(Home(tmp_path / "elsewhere"), **environ) as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        gate.cut()
        house.answer(inquiry.id, "1")
        assert someone.reply(1)["result"]["structuredContent"]["answers"] == [["Redis"]]
        assert house.happened("collected").data["evidence"] == "acknowledged"
        assert house.history() == ["asked", "answered", "collected"]


def test_a_remote_call_that_is_taken_back_detaches(house: House, tmp_path: Path) -> None:
    environ = {"UPCALL_URL": house.url, "UPCALL_TOKEN": AGENT_TOKEN, "UPCALL_WAIT": "block"}
    with agent(Home(tmp_path / "elsewhere"), **environ) as someone:
        someone.initialize()
        someone.call(1, "ask_human", QUESTION)
        [inquiry] = house.opened()
        someone.send("notifications/cancelled", {"requestId": 1})
        assert someone.ask(2, "ping")["result"] == {}
        assert house.run(house.broker.store.get(inquiry.id)).is_open
        assert not someone.has_reply(1)


def test_a_remote_daemon_with_another_token_says_so(house: House, tmp_path: Path) -> None:
    environ = {"UPCALL_URL": house.url, "UPCALL_TOKEN": "wrong"}
    with agent(Home(tmp_path / "elsewhere"), **environ) as someone:
        assert "token" in someone.ask(1, "ping")["error"]["message"]


class Gate:
    """A way to the daemon that can be cut."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        for end in self._open:
            hung_up(end)
        for end in self._open:
            end.close()
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._to))
            self._open += [near, far]
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=carry, args=(source, target), daemon=True).start()


def carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    hung_up(target)


def hung_up(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def test_the_pipe_sends_nothing_of_its_environment(house: House) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    told = (
        f'{{"pid": {os.getpid()}, "url": "", "pipe_port": {server.getsockname()[1]}, '
        f'"token": "t", "version": ""}}'
    )
    home = Home(house.home.path.parent / "spied")
    home.create()
    home.write_private(home.runtime_file, told)
    with server, agent(home, ANTHROPIC_API_KEY="sk-very-secret") as someone:
        someone.send("ping", request_id=1)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(PATIENCE)
            heard = b""
            while heard.count(b"\n") < 2:
                heard += connection.recv(65536)
    assert b"sk-very-secret" not in heard


@pytest.mark.promise("trust/33")
@pytest.mark.parametrize(
    "meta",
    [
        rb'{"upcall/requestKey": "\ud800"}',
        rb'{"claudecode/toolUseId": "\ud800", "progressToken": "\udfff"}',
        b'{"x": ' + b"[" * 600 + b"]" * 600 + b"}",
        b'{"x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
    ],
    ids=["half a character", "half a character in names", "deep", "deeper than any reader follows"],
)
def test_an_agent_gets_a_reply_to_a_call_with_odd_metadata(house: House, meta: bytes) -> None:
    with agent(house.home) as speaking:
        speaking.initialize()
        params = b'{"name": "notify_human", "arguments": {"message": "Done."}, "_meta": %b}' % meta
        speaking.send_line(b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": %b}' % params)
        assert speaking.reply(5)["id"] == 5
        assert speaking.ask(6, "ping") is not None
