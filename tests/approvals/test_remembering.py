"""An approval that is remembered as a rule, in the same step, and what the rule then allows."""

from pathlib import Path
from typing import Any

import pytest

from tests.approvals.conftest import AGENT, ANA, Office, a_command
from upcall.approvals.rulebook import Rulebook
from upcall.broker.broker import Reply
from upcall.domain.approval.rules import Remember, Rule
from upcall.domain.errors import InvalidRequest, NotAllowed, UnknownRule
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run.program import Action
from upcall.ports.store import Query


async def put(office: Office, command: str = "git push origin main", key: str = "c") -> Inquiry:
    await office.desk().approve(a_command(command), key, wait=0)
    return (await office.waiting())[0]


async def remembered(office: Office, way: Any, **more: Any) -> Rule:
    inquiry = await put(office)
    wanted = Remember(way=way, **more)
    assert (await office.broker.receive(inquiry.id, Reply(text="yes", remember=wanted), ANA)).accepted
    (rule,) = (await Rulebook(office.broker).page(None, 50))[0]
    assert (rule.by, rule.inquiry, rule.way) == ("ana", inquiry.id, way)
    return rule


async def test_what_was_remembered_is_allowed_without_asking(office: Office) -> None:
    rule = await remembered(office, "prefix")
    verdict = await office.desk(session="s2").approve(a_command("git push origin feature"), "d")
    assert verdict.allowed
    assert rule.id in verdict.reason
    (event,) = await office.events("allowed_by_rule")
    assert (event.data["rule"], event.data["action"]) == (rule.id, "git push origin feature")
    assert not (await office.store.find(Query(state="open"))).items
    assert (await office.desk().approve(a_command("git push; reboot"), "e", wait=0)).open


@pytest.mark.promise("spec/117")
async def test_a_revoked_rule_and_an_expired_one_allow_nothing(office: Office) -> None:
    rule = await remembered(office, "exact")
    book = Rulebook(office.broker)
    await book.revoke(rule.id, ANA)
    assert (await office.desk(session="s2").approve(a_command("git push origin main"), "d", wait=0)).open
    (event,) = await office.events("rule_revoked")
    assert (event.data["rule"], event.data["by"]) == (rule.id, "ana")
    with pytest.raises(UnknownRule):
        await book.revoke(rule.id, ANA)

    await book.add(ANA, tool="Bash", seconds=60)
    office.now += 61
    assert (await office.desk(session="s3").approve(a_command("ls"), "e", wait=0)).open


@pytest.mark.parametrize("reply", ["no", "perhaps"])
async def test_only_a_yes_is_remembered(office: Office, reply: str) -> None:
    inquiry = await put(office)
    with pytest.raises(InvalidRequest):
        await office.broker.receive(inquiry.id, Reply(text=reply, remember=Remember(way="exact")), ANA)
    assert (await office.store.get(inquiry.id)).is_open
    assert (await Rulebook(office.broker).page(None, 50))[0] == ()


async def test_a_rule_that_cannot_be_made_leaves_the_approval_open(office: Office) -> None:
    inquiry = await put(office, "git push; reboot")
    with pytest.raises(InvalidRequest):
        await office.broker.receive(inquiry.id, Reply(text="yes", remember=Remember(way="prefix")), ANA)
    assert (await office.store.get(inquiry.id)).is_open


async def test_agents_neither_make_nor_see_nor_revoke_rules(office: Office) -> None:
    book = Rulebook(office.broker)
    rule = await book.add(ANA, agent="claude", prefix="npm test", directory="/home/ana/project")
    for forbidden in (book.add(AGENT, tool="Bash"), book.revoke(rule.id, AGENT)):
        with pytest.raises(NotAllowed):
            await forbidden
    assert (await office.desk().approve(a_command("npm test unit"), "c")).allowed


async def test_there_can_be_more_rules_than_fit_on_a_page(office: Office) -> None:
    book = Rulebook(office.broker)
    first = await book.add(ANA, tool="Bash")
    for number in range(210):
        await book.add(ANA, tool=f"tool-{number}")
    verdict = await office.desk().approve(a_command("ls"), "c")
    assert first.id in verdict.reason


@pytest.mark.promise("trust/28")
async def test_a_link_inside_a_directory_does_not_lead_out_of_its_rule(
    office: Office, tmp_path: Path
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here / "sub", elsewhere):
        folder.mkdir(parents=True)
    (here / "link").symlink_to(elsewhere)
    (here / "back").symlink_to(here / "sub")
    await Rulebook(office.broker).add(ANA, tool="Read", directory=str(here))

    async def allowed(path: str, cwd: Path = here) -> bool:
        action = Action(tool="Read", input={"file_path": path}, cwd=str(cwd))
        return (await office.desk().approve(action, path, wait=0)).allowed

    assert await allowed("sub/a")
    assert await allowed("back/a")
    assert await allowed("not/there/yet")
    assert not await allowed("link/a")
    assert not await allowed(str(here / "link" / "a"))
    assert not await allowed("a", here / "link")


@pytest.mark.promise("trust/28")
async def test_an_argument_that_is_a_link_does_not_lead_out_of_the_directory_of_a_prefix(
    office: Office, tmp_path: Path
) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for folder in (here / "sub", elsewhere):
        folder.mkdir(parents=True)
    (here / "link").symlink_to(elsewhere)
    await Rulebook(office.broker).add(ANA, tool="Bash", directory=str(here), prefix="touch")

    async def allowed(command: str, cwd: Path = here) -> bool:
        action = Action(tool="Bash", input={"command": command}, cwd=str(cwd))
        return (await office.desk().approve(action, command, wait=0)).allowed

    assert await allowed("touch sub/a new")
    assert not await allowed("touch sub/a link/new")
    assert not await allowed(f"touch {here}/link/new")
    assert not await allowed("touch x=link/new")
    assert not await allowed("touch ../link/new", here / "sub")
    assert not await allowed("touch " + "a " * 2000)
