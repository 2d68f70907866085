"""Answer links: one inquiry, one person, one answer, without signing in."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from tests.web.house import House, code
from tests.web.visitor import Form, Visitor, forms, words
from upcall.dispatch.answer_links import BURST, AnswerLinks
from upcall.dispatch.people import People

DAY = 86400
FORM: dict[str, Any] = {
    "questions": [
        {"question": "Which cache?", "options": ["Redis", "Memcached"]},
        {"question": "Which checks?", "options": ["lint", "tests"], "multiSelect": True},
        {"question": "What name?"},
    ]
}


@pytest.fixture
async def visitor(house: House) -> AsyncIterator[Visitor]:
    """A browser without a session."""
    visitor = Visitor(house)
    yield visitor
    await visitor.client.aclose()


async def link(house: House, inquiry: dict[str, Any], person: str = "ana", by: str = "root") -> str:
    """The path of a link that was made over the API."""
    made = await house.post(by, f"{inquiry['ref']}/links", person=person)
    assert made.status_code == 201, made.text
    assert made.json()["person"] == person
    url: str = made.json()["url"]
    assert url.startswith(f"{house.url}/a/")
    return url.removeprefix(house.url)


async def opened(visitor: Visitor, path: str) -> Form:
    """The form behind a link."""
    (form,) = forms(await visitor.looks(path))
    return form


async def said(response: httpx2.Response, status: int) -> str:
    """What a page says, which was sent with a status."""
    assert response.status_code == status, response.text
    return words(response.text)


@pytest.mark.promise("spec/136")
async def test_looking_changes_nothing_and_sending_answers(house: House, visitor: Visitor) -> None:
    asked = await house.asked()
    path = await link(house, asked)
    for _ in range(3):
        page = await visitor.client.get(path)
        assert "You answer as ana" in await said(page, 200)
    form = await opened(visitor, path)
    assert form.action == path
    response = await visitor.sends(form, ("q0", "1"))
    assert "The agent is being told" in await said(response, 200)
    assert "set-cookie" not in response.headers
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["answers"], answer["by"], answer["via"]) == ([["Memcached"]], "ana", "link")


async def test_the_address_is_sent_nowhere_and_nothing_is_kept(house: House, visitor: Visitor) -> None:
    path = await link(house, await house.asked())
    for response in (await visitor.client.get(path), await visitor.client.get("/a/nonsense")):
        assert response.headers["referrer-policy"] == "no-referrer"
        assert response.headers["cache-control"] == "no-store"
        assert "set-cookie" not in response.headers
        assert "<script" not in response.text
    assert (await visitor.client.get("/")).headers["location"] == "/sign-in"


async def test_the_page_shows_its_inquiry_and_no_other(house: House, visitor: Visitor) -> None:
    await house.asked(question="Something else?")
    asked = await house.asked(context="about **this**", question="This?")
    text = await visitor.looks(await link(house, asked))
    assert "Something else?" not in text
    assert "<strong>this</strong>" in text
    assert 'href="/i/' not in text
    assert "/reject" not in text
    assert "/snooze" not in text


async def test_several_questions_are_one_form(house: House, visitor: Visitor) -> None:
    asked = await house.asked(**FORM)
    form = await opened(visitor, await link(house, asked))
    await visitor.sends(form, ("q0", "0"), ("q1", "0"), ("q1", "1"), ("t2", "billing"))
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert answer["answers"] == [["Redis"], ["lint", "tests"], ["billing"]]


async def test_what_cannot_be_sent_comes_back_with_a_sentence(house: House, visitor: Visitor) -> None:
    asked = await house.asked(**FORM)
    path = await link(house, asked)
    form = await opened(visitor, path)
    refused = await visitor.sends(form, ("q0", "0"), ("t2", "half typed"))
    assert "An empty answer is not an answer" in await said(refused, 422)
    assert "half typed" in refused.text
    assert refused.headers["referrer-policy"] == "no-referrer"
    # The link is still good.
    done = await visitor.sends(form, ("q0", "0"), ("q1", "0"), ("t2", "x"))
    assert "The agent is being told" in await said(done, 200)


@pytest.mark.promise("spec/136")
async def test_a_link_is_good_for_one_answer(house: House, visitor: Visitor) -> None:
    asked = await house.asked()
    path, other = await link(house, asked), await link(house, asked)
    form, later = await opened(visitor, path), await opened(visitor, other)
    await visitor.sends(form, ("q0", "0"))
    # The same form sent again is the same answer.
    assert "The agent is being told" in await said(await visitor.sends(form, ("q0", "0")), 200)
    assert "has been used" in await said(await visitor.sends(later, ("q0", "1")), 410)
    used = await visitor.client.get(path)
    assert "has been used" in await said(used, 410)
    assert "Which cache?" not in used.text
    assert "has been used" in await said(await visitor.sends(form, ("q0", "7")), 410)
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert answer["answers"] == [["Redis"]]


async def test_a_vote_uses_a_link_up_while_others_are_waited_for(house: House, visitor: Visitor) -> None:
    house.broker.policy = type(house.broker.policy)(quorum=2)
    asked = await house.asked(kind="approval", question="rm -rf build")
    path = await link(house, asked)
    form = await opened(visitor, path)
    voted = await said(await visitor.sends(form, ("verdict", "approve")), 200)
    assert "It needs more people" in voted
    assert "rm -rf build" not in voted
    again = await opened(visitor, await link(house, asked, "ben"))
    other_form = Form(form.action, [("key", "another")])
    assert "has been used" in await said(await visitor.sends(other_form, ("verdict", "deny")), 410)
    assert "has been used" in await said(await visitor.client.get(path), 410)
    assert "The agent is being told" in await said(await visitor.sends(again, ("verdict", "approve")), 200)


async def test_a_late_visitor_is_shown_what_stands(house: House, visitor: Visitor) -> None:
    asked = await house.asked()
    path = await link(house, asked)
    form = await opened(visitor, path)
    await house.answered(asked["ref"], "Memcached", by="ben")
    lost = await said(await visitor.sends(form, ("q0", "0")), 409)
    assert "was already settled" in lost
    assert "Answered: Memcached — by ben" in lost
    shown = await visitor.looks(path)
    assert "Answered: Memcached — by ben" in words(shown)
    assert forms(shown) == []


async def test_an_expired_question_takes_no_answer_by_link(house: House, visitor: Visitor) -> None:
    asked = await house.asked(question="Now?", ttl="1h")
    path = await link(house, asked)
    form = await opened(visitor, path)
    house.clock.now += 3601
    forced = Form(form.action, [*form.fields, ("force", "1")])
    assert "Expired" in await said(await visitor.sends(forced, ("t0", "yes")), 409)
    assert forms(await visitor.looks(path)) == []


@pytest.mark.promise("spec/136")
async def test_a_link_is_too_old_after_a_week(house: House, visitor: Visitor) -> None:
    asked = await house.asked(question="Some day?", ttl="30d")
    path = await link(house, asked)
    form = await opened(visitor, path)
    house.clock.now += 7 * DAY + 1
    assert "too old" in await said(await visitor.client.get(path), 410)
    assert "too old" in await said(await visitor.sends(form, ("t0", "yes")), 410)
    assert (await house.store.get(asked["id"])).is_open


@pytest.mark.promise("spec/136")
@pytest.mark.parametrize("channel", ["mail", None])
async def test_a_person_who_was_removed_is_refused_and_stays_so(
    house: House, visitor: Visitor, channel: str | None
) -> None:
    people = People(house.store, house.clock)
    await people.add("cleo", [("mail", "cleo@example.org")])
    asked = await house.asked()
    if channel is None:
        path = await link(house, asked, "cleo")
    else:
        found = await AnswerLinks(house.broker, house.access).path_in(
            await house.store.get(asked["id"]), channel, "cleo@example.org"
        )
        assert found is not None
        path = found
    form = await opened(visitor, path)
    await people.remove("cleo")
    assert "cannot answer any more" in await said(await visitor.client.get(path), 403)
    assert "cannot answer any more" in await said(await visitor.sends(form, ("q0", "0")), 403)
    house.clock.now += 2
    await people.add("cleo")
    assert (await visitor.sends(form, ("q0", "0"))).status_code == 403
    assert (await house.store.get(asked["id"])).is_open


async def test_an_answer_says_which_channel_carried_the_link(house: House, visitor: Visitor) -> None:
    people, links = People(house.store, house.clock), AnswerLinks(house.broker, house.access)
    await people.add("cleo", [("mail", "cleo@example.org")])
    asked = await house.asked()
    inquiry = await house.store.get(asked["id"])
    assert await links.path_in(inquiry, "mail", "eve@example.org") is None
    path = await links.path_in(inquiry, "mail", "cleo@example.org")
    assert path is not None
    await visitor.sends(await opened(visitor, path), ("q0", "0"))
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert (answer["by"], answer["via"]) == ("cleo", "mail")


async def test_a_revoked_token_takes_its_links_with_it(house: House, visitor: Visitor) -> None:
    path = await link(house, await house.asked(), "ben")
    form = await opened(visitor, path)
    await house.as_("root").delete("/v1/tokens/ben")
    assert (await visitor.sends(form, ("q0", "0"))).status_code == 403
    assert (await visitor.client.get(path)).status_code == 403


async def test_a_file_is_seen_through_the_link_alone(house: House, visitor: Visitor) -> None:
    content = base64.b64encode(b"+new\n").decode()
    file = {"name": "change.diff", "media_type": "text/plain", "data": content}
    asked = await house.asked(question="This?", attachments=[file])
    path = await link(house, asked)
    assert f'href="{path}/attachments/0"' in await visitor.looks(path)
    assert (await visitor.client.get(f"{path}/attachments/0")).content == b"+new\n"
    assert (await visitor.client.get(f"{path}/attachments/1")).status_code == 404
    assert (await visitor.client.get("/a/nonsense/attachments/0")).status_code == 404


async def test_only_our_own_page_may_send(house: House, visitor: Visitor) -> None:
    asked = await house.asked()
    form = await opened(visitor, await link(house, asked))
    for headers in ({"Origin": "https://evil.example"}, {}, {"Sec-Fetch-Site": "cross-site"}):
        assert (await visitor.sends(form, ("q0", "0"), headers=headers)).status_code == 403
    assert (await house.store.get(asked["id"])).is_open
    # A page without a Referer has no other origin than this.
    assert (await visitor.sends(form, ("q0", "0"), headers={"Origin": "null"})).status_code == 200
    assert (await visitor.client.get("/sign-in", headers={"Origin": "null"})).status_code == 403
    crossed = {"Origin": "null", "Sec-Fetch-Site": "cross-site"}
    assert (await visitor.sends(form, ("q0", "0"), headers=crossed)).status_code == 403


async def test_an_always_allow_takes_the_inbox(house: House, visitor: Visitor) -> None:
    asked = await house.asked(action={"tool": "Bash", "input": {"command": "npm test"}, "cwd": "/x"})
    form = await opened(visitor, await link(house, asked))
    await visitor.sends(form, ("verdict", "approve"), ("remember", "exact"))
    answer = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert answer["answers"] == [["Approve"]]
    assert (await house.as_("ana").get("/v1/rules")).json()["items"] == []


async def test_trying_again_and_again_has_to_wait(house: House, visitor: Visitor) -> None:
    path = await link(house, await house.asked())
    for _ in range(int(BURST)):
        assert (await visitor.client.get("/a/nonsense")).status_code == 404
    assert "too often" in await said(await visitor.client.get("/a/nonsense"), 429)
    # A good link is not held up by that.
    assert (await visitor.client.get(path)).status_code == 200
    house.clock.now += 1
    assert (await visitor.client.get("/a/nonsense")).status_code == 404


async def test_a_person_makes_links_for_themselves_and_an_admin_for_anybody(house: House) -> None:
    asked = await house.asked()
    mine = await house.post("ana", f"{asked['ref']}/links")
    assert (mine.status_code, mine.json()["person"]) == (201, "ana")
    assert mine.json()["expires_at"] == asked["expires_at"]
    assert code(await house.post("ana", f"{asked['ref']}/links", person="ben")) == (403, "not_allowed")
    assert code(await house.post("builder", f"{asked['ref']}/links")) == (403, "not_allowed")
    for name in ("stranger", "builder"):
        refused = await house.post("root", f"{asked['ref']}/links", person=name)
        assert code(refused) == (404, "unknown_person")
    assert code(await house.post("root", "zz9/links", person="ana")) == (404, "unknown_inquiry")
    await house.answered(asked["ref"])
    assert code(await house.post("ana", f"{asked['id']}/links")) == (400, "invalid_request")


@pytest.mark.promise("desk/31")
async def test_a_press_on_a_notification_decides_once_and_hears_a_sentence(
    house: House, visitor: Visitor
) -> None:
    async def pressed(path: str) -> httpx2.Response:
        headers = {"X-Upcall-Fragment": "1", "Origin": house.url}
        return await visitor.client.post(path, data={"verdict": "approve"}, headers=headers)

    asked = await house.asked(kind="approval", question="terraform apply")
    path = await link(house, asked)
    first, again = await pressed(path), await pressed(path)
    assert (first.status_code, first.headers["content-type"]) == (200, "text/plain; charset=utf-8")
    assert first.text.startswith(f"Answered {asked['ref']}.")
    assert again.status_code == 410
    assert "good for one answer" in again.text

    other = await house.asked(kind="approval", question="rm -rf build")
    path = await link(house, other)
    await house.post("ben", f"{other['ref']}/answer", text="Deny")
    late = await pressed(path)
    assert (late.status_code, late.text) == (
        409,
        f"Too late: {other['ref']} was settled before, so nothing was changed.",
    )
    answer = (await house.as_("ana").get(f"/v1/inquiries/{other['id']}")).json()["answer"]
    assert (answer["text"], answer["by"]) == ("Deny", "ben")
