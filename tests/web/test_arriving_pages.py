"""Pages that a person meets on the way: rules, a wrong address, the end of a session, icons."""

import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.plain_http import plain_client
from tests.web.house import House
from tests.web.visitor import Visitor, words
from upcall.web.pages.assets import assets

HTML = {"Accept": "text/html,*/*"}


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()


async def approved(live: House, command: str, answer: str = "yes") -> dict[str, Any]:
    action = {"tool": "Bash", "input": {"command": command}, "cwd": "/srv/shop"}
    asked = await live.asked(kind="approval", action=action)
    return await live.answered(asked["id"], answer)


@pytest.mark.promise("desk/20")
async def test_a_rule_is_made_from_an_approval_listed_and_revoked(live: House, ana: Visitor) -> None:
    assert "There are no rules." in words(await ana.looks("/rules"))
    await approved(live, "rm -rf /", "no")
    await approved(live, "git push origin main")
    page = words(await ana.looks("/rules"))
    assert "git push origin main" in page
    assert "rm -rf" not in page
    made = await ana.sends(await ana.form("/rules", "/rules"), ("remember", "prefix"))
    assert made.headers["location"] == "/rules?said=rule_made"
    page = words(await ana.looks("/rules?said=rule_made"))
    assert "The rule is made." in page
    assert "begins with git push origin" in page
    (rule,) = (await live.as_("ana").get("/v1/rules")).json()["items"]
    assert (rule["prefix"], rule["agent"], rule["by"]) == ("git push origin", "builder", "ana")
    gone = await ana.sends(await ana.form("/rules", f"/rules/{rule['id']}/revoke"))
    assert gone.headers["location"] == "/rules?said=rule_revoked"
    assert (await live.as_("ana").get("/v1/rules")).json()["items"] == []


@pytest.mark.promise("desk/20")
async def test_no_rule_is_made_from_what_was_not_approved(live: House, ana: Visitor) -> None:
    await approved(live, "git push origin main")
    form = await ana.form("/rules", "/rules")
    denied = await approved(live, "git push --force", "no")
    form.fields = [(name, denied["id"] if name == "inquiry" else sent) for name, sent in form.fields]
    assert (await ana.sends(form, ("remember", "exact"))).status_code == 400
    assert (await ana.sends(form, ("remember", "everything"))).status_code >= 400
    assert (await live.as_("ana").get("/v1/rules")).json()["items"] == []


@pytest.mark.promise("desk/35")
async def test_a_wrong_address_is_a_page_for_a_browser_and_json_for_a_program(live: House) -> None:
    async with plain_client(base_url=live.url) as client:
        page = await client.get("/no/such/place", headers=HTML)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is nothing here." in page.text
        for path, headers in (("/no/such/place", {}), ("/v1/nothing", HTML)):
            told = await client.get(path, headers=headers)
            assert (told.status_code, told.json()["error"]["code"]) == (404, "not_found")
        assert (await client.post("/no/such/place", headers=HTML)).json()["error"]["code"] == "not_found"


@pytest.mark.promise("arriving/5")
async def test_the_sign_in_page_says_that_the_session_ended_and_words_are_kept(
    live: House, ana: Visitor
) -> None:
    cookies = dict(ana.client.cookies)
    await ana.sends(await ana.form("/", "/sign-out"))
    async with plain_client(base_url=live.url, cookies=cookies) as client:
        moved = await client.get("/", headers=HTML)
        assert moved.headers["location"] == "/sign-in?ended=1"
        page = await client.get(moved.headers["location"])
        assert "has ended" not in (await client.get("/sign-in")).text
    assert "Your session has ended. What you have written is kept in this browser." in page.text


@pytest.mark.promise("arriving/6")
@pytest.mark.parametrize(
    ("name", "size"), [("icon-180", 180), ("icon-192", 192), ("icon-512", 512), ("icon-mask", 512)]
)
async def test_icons_are_pictures_of_the_size_that_they_say(ana: Visitor, name: str, size: int) -> None:
    served = await ana.client.get(f"/static/{name}.png")
    assert served.headers["content-type"] == "image/png"
    assert struct.unpack(">II", served.content[16:24]) == (size, size)
    page = await ana.looks("/")
    assert 'rel="apple-touch-icon" href="/static/icon-180.png"' in page
    assert page.count('name="theme-color"') == 2
    manifest = assets()["upcall.webmanifest"].content.decode()
    assert name == "icon-180" or f"/static/{name}.png" in manifest


@pytest.mark.promise("desk/29")
async def test_the_empty_inbox_sends_a_test_question_once(live: House, ana: Visitor) -> None:
    form = await ana.form("/", "/inbox/test")
    for _ in range(2):
        assert (await ana.sends(form)).headers["location"] == "/"
    (asked,) = (await live.as_("ana").get("/v1/inquiries?state=open")).json()["items"]
    assert asked["questions"][0]["question"] == "A test: does this question reach you?"
    page = await ana.looks()
    assert "A test: does this question reach you?" in page
    answered = await live.answered(asked["id"], "Yes, it does")
    assert answered["state"] == "answered"


@pytest.mark.promise("desk/29")
async def test_the_phone_is_led_in_by_a_code_that_lets_one_browser_in(tmp_path: Path) -> None:
    url = "http://upcall.example"
    async with House.open(tmp_path, public_url=url, allowed_hosts=("upcall.example",)) as house:
        house.url = url
        ana = Visitor(house)
        await ana.signs_in()
        shown = await ana.sends(await ana.form("/", "/phone"))
        assert 'src="data:image/svg+xml' in shown.text
        # Each time another link.
        assert shown.text != (await ana.sends(await ana.form("/", "/phone"))).text
        await ana.client.aclose()


async def test_where_a_phone_cannot_come_the_page_says_so(ana: Visitor) -> None:
    shown = await ana.sends(await ana.form("/", "/phone"))
    assert "A phone cannot reach this machine under 127.0.0.1." in words(shown.text)
    assert "<img" not in shown.text
