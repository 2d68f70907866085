"""Runs in the browser, without scripts: what is shown of them, and what a person can do about them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.web.house import House
from tests.web.visitor import Visitor, words
from upcall.access.tokens import digest
from upcall.domain.roles import Caller, Role
from upcall.domain.run.run import RunState
from upcall.web.pages.run_views import LONGEST_LINE, MOST_LINES

ORDER: dict[str, Any] = {"agent": "scripted", "task": "Fix the flaky test", "cwd": "/srv/shop"}


ANA = Caller(name="ana", role=Role.PERSON)


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()


async def begun(live: House, **more: Any) -> int:
    number: int = (await live.as_("ana").post("/v1/runs", json=ORDER | more)).json()["number"]
    return number


async def test_without_runs_the_page_says_how_to_start_one(ana: Visitor) -> None:
    page = await ana.looks("/runs")
    assert "No run yet" in page
    assert "upcall run claude" in page


async def test_runs_are_listed_the_latest_first_with_how_far_they_are(live: House, ana: Visitor) -> None:
    await begun(live)
    second = await begun(live, task="Update <b>everything</b>")
    await live.runs.become(second, turns=3, cost=0.125, tool="Bash")
    page = await ana.looks("/runs")
    said = words(page)
    assert said.index("#2") < said.index("#1")
    assert "Update &lt;b&gt;everything&lt;/b&gt;" in page
    assert "turns: 3 · $0.12 · Bash" in said
    assert "running" in said


async def test_the_list_is_turned_page_by_page(live: House, ana: Visitor) -> None:
    for number in range(31):
        await begun(live, task=f"Task {number:02}")
    first = await ana.looks("/runs")
    assert "Task 30" in first
    assert "Task 00" not in first
    following = first.partition('href="/runs?cursor=')[2].partition('"')[0]
    assert "Task 00" in await ana.looks(f"/runs?cursor={following}")


async def test_a_run_shows_its_task_its_questions_and_its_log(live: House, ana: Visitor) -> None:
    number = await begun(live)
    live.access.lend(digest("of-run"), Caller(name="scripted", role=Role.AGENT, run=number))
    live.secrets["of-run"] = "of-run"
    waiting = await live.asked("of-run", question="Which cache?", options=["Redis", "Memcached"])
    done = await live.asked("of-run", question="Which colour?")
    await live.answered(done["id"], "blue")
    await live.asked(question="Another run's?")
    await live.runs.write(number, "looking <around>")
    page = await ana.looks(f"/runs/{number}")
    assert "Fix the flaky test" in page
    assert "looking &lt;around&gt;" in page
    assert f"/i/{waiting['id']}/answer" in page
    assert "Answered: blue" in words(page)
    assert "Another run" not in page
    # And the question leads to its run.
    assert f'href="/runs/{number}"' in await ana.looks(f"/i/{waiting['id']}")


async def test_a_log_is_shown_to_its_end_and_no_line_of_it_whole(live: House, ana: Visitor) -> None:
    number = await begun(live)
    await live.runs.write(number, *[f"line {at}." for at in range(MOST_LINES + 1)], "x" * (LONGEST_LINE + 1))
    page = await ana.looks(f"/runs/{number}")
    assert "line 0." not in page
    assert "line 1." not in page
    assert f"line {MOST_LINES}." in page
    assert "x" * LONGEST_LINE in page
    assert "x" * (LONGEST_LINE + 1) not in page
    assert "`upcall log` shows all" in page


async def test_a_run_is_told_something_ended_and_tried_again(live: House, ana: Visitor) -> None:
    number = await begun(live)
    told = await ana.sends(await ana.form(f"/runs/{number}", "/say"), ("text", "use the new API"))
    assert told.headers["location"] == f"/runs/{number}?said=say"
    assert live.runs.said == ["use the new API"]
    ended = await ana.sends(await ana.form(f"/runs/{number}", "/cancel"))
    assert "The run is being ended." in await ana.looks(ended.headers["location"])
    assert live.runs.runs[number].state is RunState.CANCELLED
    again = await ana.sends(await ana.form(f"/runs/{number}", "/retry"))
    assert again.headers["location"] == f"/runs/{number + 1}?said=retry"
    assert f"retry of {number}" in await ana.looks(f"/runs/{number + 1}")


@pytest.mark.promise("trust/93")
async def test_a_form_that_is_sent_twice_tells_once_and_tries_again_once(live: House, ana: Visitor) -> None:
    """As after a double click in a browser without scripts."""
    number = await begun(live)
    say = await ana.form(f"/runs/{number}", "/say")
    for text in ("go on", "go on", "and test it"):
        await ana.sends(say, ("text", text))
    assert live.runs.said == ["go on", "and test it"]
    await live.runs.cancel(number, ANA)
    retry = await ana.form(f"/runs/{number}", "/retry")
    for _ in range(2):
        assert (await ana.sends(retry)).headers["location"] == f"/runs/{number + 1}?said=retry"
    assert len(live.runs.runs) == 2
    # A page that is drawn anew is another wish.
    later = await ana.sends(await ana.form(f"/runs/{number}", "/retry"))
    assert later.headers["location"] == f"/runs/{number + 2}?said=retry"


async def test_what_cannot_be_done_to_a_run_is_said_on_its_page(live: House, ana: Visitor) -> None:
    number = await begun(live)
    refused = await ana.sends(await ana.form(f"/runs/{number}", "/retry"))
    assert refused.status_code == 409
    assert "not in a state in which that can be done" in refused.text
    assert len(live.runs.runs) == 1


@pytest.mark.parametrize("path", ["/runs/7", "/runs/x", "/runs/7/stream", "/runs/" + "9" * 30])
async def test_a_run_that_is_not_there_is_a_page_that_says_so(ana: Visitor, path: str) -> None:
    response = await ana.client.get(path)
    assert response.status_code == 404
    assert "There is no such run." in response.text


async def test_a_form_of_another_page_does_nothing_to_a_run(live: House, ana: Visitor) -> None:
    number = await begun(live)
    form = await ana.form(f"/runs/{number}", "/cancel")
    for headers in ({"Origin": "https://evil.example"}, {}):
        assert (await ana.sends(form, headers=headers)).status_code == 403
    form.fields = []
    assert (await ana.sends(form)).status_code == 403
    assert live.runs.runs[number].state is RunState.RUNNING


async def test_questions_runs_and_commands_are_found_by_their_words(live: House, ana: Visitor) -> None:
    await live.asked(question="Which <b>cache</b>?")
    await ana.sends(await ana.form("/", "/reject"))
    await live.asked(question="Another cache?")
    await begun(live)
    for number in range(201):
        await begun(live, task=f"Task {number:03}")
    page = await ana.looks("/find?q=cache")
    assert page.index("Another cache?") < page.index("Which &lt;b&gt;cache&lt;/b&gt;?")
    assert "Fix the flaky" not in page
    # Further back than one page of runs.
    assert 'href="/runs/1"' in await ana.looks("/find?q=FLAKY")
    assert 'href="/history">History' in (await ana.looks("/find?q=hist")).partition("<main")[2]
    assert "Nothing matches this." in await ana.looks("/find?q=unheard-of")
