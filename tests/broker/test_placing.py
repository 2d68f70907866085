"""Agent, folder and branch name a question from the moment it is asked."""

import asyncio
import threading
from pathlib import Path

import pytest

from upcall.broker import placing
from upcall.broker.broker import Broker
from upcall.broker.placing import AT_ONCE, Placing
from upcall.domain.document import document
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import LOCAL_AGENT
from upcall.testing.examples import an_origin

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder below a repository."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/feature/cache\n")
    (tmp_path / "shop" / "src").mkdir()
    return str(tmp_path / "shop" / "src")


@pytest.mark.promise("raised/39")
@pytest.mark.parametrize("door", ["mcp-pipe", "claude-hook", "terminal"])
async def test_the_first_event_of_a_question_has_its_branch(broker: Broker, folder: str, door: str) -> None:
    asked = (
        await broker.ask(draft({"question": "Which cache?"}), an_origin(door=door, workspace=folder))
    ).inquiry
    assert asked.origin.branch == "feature/cache"
    assert (await broker.store.get(asked.id)).origin.branch == "feature/cache"
    shown = document(asked)
    assert (shown["agent"], shown["workspace"], shown["branch"]) == ("builder", folder, "feature/cache")


async def test_a_program_on_another_machine_tells_its_branch_itself(broker: Broker, folder: str) -> None:
    placed = Placing().placed
    assert (await placed(an_origin(door="http", workspace=folder))).branch == ""
    assert (await placed(an_origin(door="http", workspace=folder, branch="theirs"))).branch == "theirs"
    assert (
        await placed(an_origin(door="http", workspace=folder, agent=LOCAL_AGENT))
    ).branch == "feature/cache"
    assert (await placed(an_origin(workspace="relative"))).branch == ""


async def test_questions_from_one_folder_share_a_look_at_it_and_later_ones_have_a_look_of_their_own(
    monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    looks: list[str] = []

    def counted(place: str) -> str:
        looks.append(place)
        return f"branch {len(looks)}"

    monkeypatch.setattr(placing, "branch_of", counted)
    monkeypatch.setattr(placing, "FRESH", 3600.0)
    placer, origin = Placing(), an_origin(workspace=folder)
    placed = await asyncio.gather(*(placer.placed(origin) for _ in range(10 * AT_ONCE)))
    assert {each.branch for each in [*placed, await placer.placed(origin)]} == {"branch 1"}
    monkeypatch.setattr(placing, "FRESH", 0.0)
    later = Placing()
    assert [(await later.placed(origin)).branch for _ in range(2)] == ["branch 2", "branch 3"]


async def test_folders_that_do_not_answer_hold_no_question_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(placing, "branch_of", lambda _: str(release.wait()))
    monkeypatch.setattr(placing, "PATIENCE", 0.0)
    placer = Placing()
    try:
        for number in range(AT_ONCE):
            assert (await placer.placed(an_origin(workspace=f"/mnt/gone{number}"))).branch == ""
        monkeypatch.setattr(placing, "PATIENCE", None)
        # All hang: the next one is not looked at, or this would wait for good.
        other = an_origin(workspace="/mnt/other")
        assert (await asyncio.wait_for(placer.placed(other), 60)).branch == ""
    finally:
        release.set()
