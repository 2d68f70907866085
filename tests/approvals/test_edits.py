"""An action that a person edits before they approve it: that one runs, is decided like the first, and is never remembered."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.approvals.conftest import ANA, BEN, CWD, Office
from upcall.approvals.rulebook import Rulebook
from upcall.broker.broker import Reply
from upcall.domain.answer.outcome import outcome
from upcall.domain.approval import actions
from upcall.domain.approval.editing import from_text
from upcall.domain.approval.rules import Remember
from upcall.domain.document import document
from upcall.domain.errors import EditDenied, InvalidRequest, NotAllowed, NotEditable, NoteUnread
from upcall.domain.inquiry.inquiry import DENY, Answered, Inquiry
from upcall.domain.run.program import Action

ASKED = {"command": "rm -rf build dist", "description": "Clean up"}
EDITED = {"command": "rm -rf build", "description": "Clean up"}
CLEAN = Action(tool="Bash", input=ASKED, cwd=CWD, editable=True, hears="with_yes")
LESS = replace(CLEAN, input=EDITED)


async def put(office: Office, action: Action = CLEAN, key: str = "c") -> Inquiry:
    await office.desk().approve(action, key, wait=0)
    return (await office.waiting())[0]


@pytest.mark.promise("raised/20")
async def test_an_edited_action_is_what_is_allowed_and_both_are_on_record(office: Office) -> None:
    inquiry = await put(office)
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED, note="not dist"), ANA)
    assert settled.accepted
    verdict = await office.desk().approve(CLEAN, "c", wait=0)

    assert (verdict.allowed, verdict.input) == (True, EDITED)
    assert "-rm -rf build dist\n+rm -rf build" in verdict.remark
    assert "not dist" in verdict.remark
    shown = document(await office.store.get(inquiry.id))
    answer, action = shown["answer"], shown["action"]
    assert isinstance(answer, dict)
    assert isinstance(action, dict)
    edit = answer["edit"]
    assert (action["sha256"], edit["sha256"]) == (actions.digest(CLEAN), actions.digest(LESS))
    assert edit["before"].startswith("rm -rf build dist\n")
    assert edit["after"].startswith("rm -rf build\n")
    assert edit["difference"] == "--- command\n+++ command\n-rm -rf build dist\n+rm -rf build"
    (answered,) = await office.events("answered")
    assert answered.data["edit"] == {
        "asked_sha256": actions.digest(CLEAN),
        "sha256": actions.digest(LESS),
        **{name: edit[name] for name in ("before", "after", "difference")},
    }


async def test_an_edit_that_changes_nothing_is_a_plain_approval(office: Office) -> None:
    inquiry = await put(office)
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", input=dict(ASKED)), ANA)
    assert settled.inquiry.is_approved
    assert settled.inquiry.edit is None


@pytest.mark.promise("raised/22")
async def test_for_a_program_that_cannot_run_it_an_edit_is_a_denial_that_suggests_it(office: Office) -> None:
    action = replace(CLEAN, editable=False)
    inquiry = await put(office, action)
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED, note="not dist"), ANA)
    assert settled.accepted
    assert isinstance(settled.inquiry.state, Answered)
    assert settled.inquiry.state.answer.values == ((DENY,),)
    verdict = await office.desk().approve(action, "c", wait=0)
    assert not verdict.allowed
    assert verdict.reason.startswith("The user denied this. Do not perform the action.")
    assert "not dist" in verdict.reason
    assert "They suggest this instead, which you can ask for:\nrm -rf build\n" in verdict.reason


@pytest.mark.promise("raised/23")
async def test_an_edited_action_that_was_denied_in_this_turn_is_denied_again(office: Office) -> None:
    denied = await put(office, LESS, "c1")
    await office.broker.receive(denied.id, Reply(text="no"), BEN)
    inquiry = await put(office, key="c2")
    with pytest.raises(EditDenied):
        await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)
    await office.desk().begin_turn()
    assert (await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)).accepted


@pytest.mark.promise("raised/23")
async def test_a_denial_between_the_edit_and_the_call_that_takes_it_holds(office: Office) -> None:
    other = replace(LESS, hears="")
    await office.desk().approve(other, "c1", wait=0)
    await office.desk().approve(CLEAN, "c2", wait=0)
    (first, second) = await office.waiting(2)
    await office.broker.receive(second.id, Reply(text="yes", input=EDITED), ANA)
    await office.broker.receive(first.id, Reply(text="no", note="keep it"), BEN)
    verdict = await office.desk().approve(CLEAN, "c2", wait=0)
    assert (verdict.allowed, verdict.open) == (False, False)
    assert "keep it" in verdict.reason


@pytest.mark.promise("raised/23")
async def test_the_asker_may_not_approve_an_edited_action_either(open_office: Callable[..., Any]) -> None:
    office: Office = await open_office(asker_may_approve=False)
    inquiry = await put(office)
    asker = replace(ANA, name=inquiry.origin.agent)
    with pytest.raises(NotAllowed):
        await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), asker)


@pytest.mark.promise("raised/24")
async def test_an_edited_action_makes_no_rule_neither_with_the_approval_nor_later(office: Office) -> None:
    inquiry = await put(office)
    exact = Remember(way="exact")
    with pytest.raises(InvalidRequest, match="an edited action is not remembered"):
        await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED, remember=exact), ANA)
    assert (await office.store.get(inquiry.id)).is_open
    await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)
    with pytest.raises(InvalidRequest, match="an edited action is not remembered"):
        await Rulebook(office.broker).add_from(inquiry.id, exact, ANA)
    for action in (CLEAN, LESS):
        assert await Rulebook(office.broker).allowing(action, inquiry.origin.agent) is None


@pytest.mark.promise("raised/25")
async def test_an_edited_action_takes_a_whole_quorum_of_its_own(open_office: Callable[..., Any]) -> None:
    office: Office = await open_office(quorum=2)
    inquiry = await put(office)
    for person, reply in ((ANA, Reply(text="yes")), (BEN, Reply(text="yes", input=EDITED))):
        settled = await office.broker.receive(inquiry.id, reply, person)
        assert (settled.accepted, settled.inquiry.is_open) == (True, True)
    assert (await office.desk().approve(CLEAN, "c", wait=0)).open
    again = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), BEN)
    assert not again.accepted, "each person counts once for each action"

    found = await office.store.get(inquiry.id)
    approvals = document(found)["approvals"]
    assert isinstance(approvals, dict)
    assert [(vote["by"], vote["sha256"]) for vote in approvals["given"]] == [
        ("ana", actions.digest(CLEAN)),
        ("ben", actions.digest(LESS)),
    ]
    assert [edit["input"] for edit in approvals["edits"]] == [EDITED]

    last = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)
    assert last.inquiry.is_approved
    assert [vote.by for vote in last.inquiry.votes] == ["ben", "ana"]
    verdict = await office.desk().approve(CLEAN, "c", wait=0)
    assert (verdict.allowed, verdict.input) == (True, EDITED)


@pytest.mark.promise("raised/18")
async def test_words_beside_a_yes_are_told_where_the_program_lets_them_through(office: Office) -> None:
    inquiry = await put(office)
    await office.broker.receive(inquiry.id, Reply(text="yes", note="be quick"), ANA)
    verdict = await office.desk().approve(CLEAN, "c", wait=0)
    assert (verdict.allowed, verdict.input) == (True, None)
    assert verdict.remark == "The user approved this, with a note: be quick"
    deaf = await put(office, replace(CLEAN, hears=""), "c2")
    with pytest.raises(NoteUnread):
        await office.broker.receive(deaf.id, Reply(text="yes", note="be quick"), ANA)


@pytest.mark.promise("raised/21")
async def test_where_a_yes_has_no_words_the_model_is_told_once_when_the_tool_has_run(office: Office) -> None:
    inquiry = await put(office, replace(CLEAN, hears="after"))
    await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)
    assert (await office.desk().approve(replace(CLEAN, hears="after"), "c", wait=0)).allowed

    assert await office.desk(session="another").remark("Bash", EDITED) == ""
    assert await office.desk().remark("Bash", ASKED) == ""
    assert "+rm -rf build" in await office.desk().remark("Bash", EDITED)
    assert await office.desk().remark("Bash", EDITED) == ""


async def test_an_edit_can_be_undone_while_it_is_held(office: Office) -> None:
    inquiry = await put(office)
    held = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED, hold=4), ANA)
    assert (held.accepted, held.inquiry.held is not None) == (True, True)
    await office.broker.undo(inquiry.id, ANA)
    await office.broker.receive(inquiry.id, Reply(text="no"), ANA)
    assert not (await office.desk().approve(CLEAN, "c", wait=0)).allowed


async def test_an_asker_that_reads_the_answer_is_told_what_to_do_exactly(office: Office) -> None:
    inquiry = await put(office)
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", input=EDITED), ANA)
    told = outcome(settled.inquiry).text
    assert "with a change. Perform exactly this, and nothing else:\nrm -rf build\n" in told


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ({"command": "rm -rf build"}, "has the fields"),
        ({**EDITED, "timeout": 1}, "has the fields"),
        ({**EDITED, "command": ["rm"]}, "not of the type"),
        ({**EDITED, "command": "  "}, "nothing is left"),
        ({**EDITED, "command": "rm\u00a0build"}, "cannot be seen"),
        ({**EDITED, "command": "x" * (actions.MOST_EDITED + 1)}, "at most"),
    ],
)
async def test_an_edit_is_an_action_of_the_same_tool(office: Office, wanted: Any, problem: str) -> None:
    inquiry = await put(office)
    with pytest.raises(NotEditable, match=problem):
        await office.broker.receive(inquiry.id, Reply(text="yes", input=wanted), ANA)


@pytest.mark.parametrize(
    "written",
    ["1" + 30 * "0", "1e999", "[" * 101 + "]" * 101],
    ids=("64 bits", "infinite", "deep"),
)
async def test_an_edit_that_a_program_would_be_told_differently_is_refused(
    office: Office, written: str
) -> None:
    given: dict[str, object] = {"url": "https://example.org", "limit": [] if "[" in written else 5}
    inquiry = await put(office, replace(CLEAN, tool="Fetch", input=given))
    wanted = from_text(given, {"limit": written})
    with pytest.raises(NotEditable, match="limit: "):
        await office.broker.receive(inquiry.id, Reply(text="yes", input=wanted), ANA)


async def test_a_secret_in_an_edit_is_masked_wherever_the_edit_is_shown(office: Office) -> None:
    token = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"
    inquiry = await put(office)
    wanted = {**ASKED, "command": f"curl -H 'Authorization: Bearer {token}' x"}
    settled = await office.broker.receive(inquiry.id, Reply(text="yes", input=wanted), ANA)
    edit = settled.inquiry.edit
    assert edit is not None
    assert edit.input == wanted
    assert token not in edit.after + edit.difference
    (answered,) = await office.events("answered")
    assert token not in str(answered.data)


@pytest.mark.parametrize(
    "command",
    ["curl -H 'Authorization: Bearer sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' x", "a\u202eb"],
)
async def test_what_is_masked_or_hidden_cannot_be_edited(office: Office, command: str) -> None:
    inquiry = await put(office, replace(CLEAN, input={"command": command}))
    assert document(inquiry)["action"] == {**_action(inquiry), "input": None}
    with pytest.raises(NotEditable, match="masked or hidden"):
        await office.broker.receive(inquiry.id, Reply(text="yes", input={"command": "true"}), ANA)


async def test_a_denial_is_not_edited(office: Office) -> None:
    inquiry = await put(office)
    with pytest.raises(NotEditable, match="only an approval"):
        await office.broker.receive(inquiry.id, Reply(text="no", input=EDITED), ANA)


def _action(inquiry: Inquiry) -> dict[str, object]:
    shown = document(inquiry)["action"]
    assert isinstance(shown, dict)
    return shown
