"""Threads as pages, without scripts: the conversation, its question in place, and a composer that says what it does."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.plain_http import plain_client
from tests.web.house import CHOICE, House, serving
from tests.web.visitor import Visitor, words
from upcall.broker.broker import Policy
from upcall.broker.threads import Threads, Words
from upcall.domain.roles import Caller, Role
from upcall.domain.thread.thread import ThreadRules


@pytest.fixture
async def ana(live: House) -> AsyncIterator[Visitor]:
    """A person who has signed in."""
    visitor = Visitor(live)
    await visitor.signs_in()
    yield visitor
    await visitor.client.aclose()


async def posted(live: House, text: str, by: str = "builder", **metadata: Any) -> None:
    response = await live.as_(by).post("/v1/threads/t/items", json={"text": text, "metadata": metadata})
    assert response.status_code == 201, response.text


async def begun(live: House, title: str = "The shop") -> None:
    await live.as_("builder").post("/v1/threads", json={"id": "t", "title": title})


async def test_the_list_says_which_threads_ask_something(live: House, ana: Visitor) -> None:
    assert "No agent has begun a conversation yet." in await ana.looks("/threads")
    await begun(live)
    assert "asks" not in words(await ana.looks("/threads"))
    await live.asked(**CHOICE, thread="t")
    page = words(await ana.looks("/threads"))
    assert "The shop" in page
    assert "asks Which cache?" in page


@pytest.mark.promise("deepchat/5", "deepchat/33")
async def test_a_question_stands_where_it_was_asked_with_its_options_and_a_field(
    live: House, ana: Visitor
) -> None:
    """Render the new block in the assistant's message. Pending view renders options and custom input."""
    await begun(live)
    await posted(live, "I will add a **cache**.")
    await live.asked(**CHOICE, thread="t")
    page = await ana.looks("/threads/t")
    assert "<strong>cache</strong>" in page
    assert page.index("I will add a") < page.index("Which cache?") < page.index("Your message answers")
    form = next(form for form in await forms(ana) if form.action.endswith("/answer"))
    assert form.offered == [("q0", "0"), ("q0", "1"), ("q0", "other")]
    sent = await ana.sends(form, ("q0", "1"))
    assert (sent.status_code, sent.headers["location"].partition("?")[0]) == (303, "/threads/t")
    done = words(await ana.looks("/threads/t"))
    assert "Answered: Memcached" in done
    assert done.count("ana") >= 2
    assert "Your message waits for the agent" in done


async def test_a_message_answers_the_open_question_or_waits(live: House, ana: Visitor) -> None:
    await begun(live)
    first = await ana.form("/threads/t", "/say")
    assert (await ana.sends(first, ("text", "use the new API"))).status_code == 303
    page = words(await ana.looks("/threads/t"))
    assert "use the new API" in page
    assert "for the next turn" in page
    asked = await live.asked(**CHOICE, thread="t")
    answer = await ana.form("/threads/t", "/say")
    await ana.sends(answer, ("text", "1"))
    await ana.sends(answer, ("text", "1"))
    document = (await live.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
    assert document["answer"]["answers"] == [["Redis"]]
    items = (await live.as_("ana").get("/v1/threads/t/items")).json()["items"]
    assert [item["content"][0]["text"] for item in items if item["role"] == "user"] == [
        "use the new API",
        "1",
    ]


async def test_words_written_before_a_question_was_shown_do_not_answer_it(live: House, ana: Visitor) -> None:
    await begun(live)
    early = await ana.form("/threads/t", "/say")
    first = await live.asked(kind="approval", question="ls", thread="t")
    await ana.sends(early, ("text", "yes"))
    about_first = await ana.form("/threads/t", "/say")
    await live.post("ben", f"{first['id']}/answer", text="yes")
    await live.post("builder", f"{first['id']}/collect")
    second = await live.asked(kind="approval", question="rm -rf build", thread="t")
    await ana.sends(about_first, ("text", "approved"))
    document = (await live.as_("ana").get(f"/v1/inquiries/{second['id']}")).json()
    assert document["state"] == "open"
    items = (await live.as_("ana").get("/v1/threads/t/items")).json()["items"]
    assert [item["content"][0]["text"] for item in items if item["queued"]] == ["yes", "approved"]


async def test_rejecting_a_question_says_nothing_in_ones_name(live: House, ana: Visitor) -> None:
    await begun(live)
    await live.asked(**CHOICE, thread="t")
    form = next(form for form in await forms(ana) if form.action.endswith("/reject"))
    await ana.sends(form)
    items = (await live.as_("ana").get("/v1/threads/t/items")).json()["items"]
    assert [item["role"] for item in items] == ["worker", "worker"]
    assert "Cancelled: rejected" in await ana.looks("/threads/t")


async def test_what_cannot_be_sent_comes_back_with_a_sentence(live: House, ana: Visitor) -> None:
    await begun(live)
    form = await ana.form("/threads/t", "/say")
    empty = await ana.sends(form, ("text", " \r\n "))
    assert (empty.status_code, "An empty answer is not an answer" in empty.text) == (422, True)
    await live.asked(**{**CHOICE, "custom": False}, thread="t")
    form = await ana.form("/threads/t", "/say")
    refused = await ana.sends(form, ("text", "a third one"))
    assert refused.status_code == 422
    assert "Only the options given here count." in refused.text
    assert "a third one</textarea>" in refused.text


async def test_a_message_is_held_back_while_a_question_comes_first(tmp_path: Path) -> None:
    async with (
        House.open(tmp_path, policy=Policy(threads=ThreadRules(capture="gate"))) as house,
        serving(house),
    ):
        visitor = Visitor(house)
        await visitor.signs_in()
        await house.asked(**CHOICE, thread="t")
        assert "Answer or decline the open question first." in await visitor.looks("/threads/t")
        sent = await visitor.sends(await visitor.form("/threads/t", "/say"), ("text", "hello"))
        assert sent.status_code == 422
        assert "A question is open here" in sent.text
        await visitor.client.aclose()


async def test_hostile_words_are_shown_and_not_obeyed(live: House, ana: Visitor) -> None:
    hostile = "<script>alert(1)</script>"
    await begun(live, title=hostile)
    await posted(live, f"{hostile} ![x](https://evil.example/p.png)")
    await posted(live, hostile, type="tool_call", name=hostile)
    await posted(live, hostile, by="ana")
    await posted(live, hostile, type="status")
    page = await ana.looks("/threads/t")
    assert "<script>alert" not in page + await ana.looks("/threads")
    assert "<img" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 5


async def test_long_threads_are_read_page_by_page(live: House, ana: Visitor) -> None:
    await begun(live)
    for number in range(103):
        await posted(live, f"step {number} done")
    latest = await ana.looks("/threads/t")
    assert "step 102 done" in latest
    assert "step 2 done" not in latest
    (link,) = [
        part.split('"')[0] for part in latest.split('href="')[1:] if part.startswith("/threads/t?before=")
    ]
    earlier = await ana.looks(link)
    assert "step 2 done" in earlier
    assert "step 3 done" not in earlier


@pytest.mark.promise("trust/90")
async def test_words_answer_no_question_that_is_not_on_the_page(live: House, ana: Visitor) -> None:
    await begun(live)
    await live.asked(**CHOICE, thread="t")
    for number in range(101):
        # Written before the question was seen, so these wait and answer nothing.
        words_before = Words(text=f"step {number} done", seen="", key=str(number), via="web")
        await Threads(live.broker).post("t", Caller(name="ana", role=Role.PERSON), words_before)
    latest = await ana.looks("/threads/t")
    # The question stands far up by now, and once more where the words are written.
    assert latest.index("step 100 done") < latest.index("Which cache?") < latest.index("Your message answers")
    earlier = await ana.looks("/threads/t?before=50")
    assert "Your message" not in earlier
    assert "/threads/t/say" not in earlier


async def test_a_thread_that_there_is_not_is_said_so(live: House, ana: Visitor) -> None:
    response = await ana.client.get("/threads/unknown")
    assert response.status_code == 404
    assert "There is no such thread." in response.text


@pytest.mark.promise("deepchat/7")
@pytest.mark.parametrize(("language", "said"), [("de", "Gespräche"), ("ja", "スレッド"), ("zh-CN", "会话")])
async def test_pages_speak_the_readers_language(live: House, ana: Visitor, language: str, said: str) -> None:
    """Add i18n strings."""
    await begun(live)
    assert f"<h1>{said}</h1>" in await ana.looks(f"/threads?lang={language}")


@pytest.mark.promise("deepchat/25", "deepchat/27")
async def test_the_stream_carries_items_the_card_and_what_a_message_will_do(
    live: House, ana: Visitor
) -> None:
    """UI component reads block only; no direct store mutations except sending a normal user message. Renderer-side:
    main is source of truth.
    """
    await begun(live)
    told = ""
    async with ana.client.stream("GET", "/threads/t/stream?after=0") as stream:
        assert stream.status_code == 200
        asked = await live.asked(**CHOICE, thread="t")
        await live.asked(question="Elsewhere?")
        await live.as_("ben").post("/v1/threads/t/items", json={"text": "2"})
        await live.as_("builder").post(f"/v1/inquiries/{asked['id']}/collect")
        async for line in stream.aiter_lines():
            told += f"{line}\n"
            if (
                "pending_prompt_resolved" in told
                and 'data-composing="queue"' in told.rpartition("Answered")[2]
            ):
                break
    assert "event: item" in told
    assert f'data-composing="answer" data-prompt="prm_{asked["id"]}"' in told
    assert f'id="i-{asked["id"]}"' in told
    assert "Elsewhere?" not in told


async def forms(ana: Visitor) -> list[Any]:
    from tests.web.visitor import forms as forms_in

    return list(forms_in(await ana.looks("/threads/t")))


async def test_only_people_who_signed_in_see_threads(live: House) -> None:
    async with plain_client(base_url=live.url, trust_env=False) as stranger:
        for path in ("/threads", "/threads/t", "/threads/t/stream"):
            assert (await stranger.get(path)).status_code in {303, 401}
