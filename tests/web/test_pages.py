"""The inbox without scripts: every question can be read and answered with plain forms."""

from base64 import b64encode

import pytest

from tests.web.house import CHOICE, House
from tests.web.visitor import Form, Visitor, words
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Origin


async def state(live: House, inquiry: dict[str, object]) -> tuple[str, object]:
    """How an inquiry stands, and its answer if it has one."""
    document = (await live.as_("ana").get(f"/v1/inquiries/{inquiry['id']}")).json()
    return document["state"], (document["answer"] or {}).get("answers")


async def test_an_empty_inbox_says_how_to_ask(ana: Visitor) -> None:
    page = await ana.looks()
    assert "Nothing waits for you" in page
    assert "upcall setup claude" in page


@pytest.mark.promise("desk/14")
async def test_rows_stand_in_their_groups_by_deadline_and_then_by_how_long_they_are_blocked(
    live: House, ana: Visitor
) -> None:
    await live.asked(question="Snoozed?", ttl="20h")
    await ana.sends(await ana.form("/", "/snooze"), ("for", "4h"))
    await live.asked(**CHOICE | {"question": "First?"}, workspace="/home/ana/shop", ttl="24h")
    live.clock.now += 720
    await live.asked(by="painter", question="Sooner?", ttl="2h")
    live.clock.now += 60
    await live.asked(question="As soon?", ttl=str(7200 - 60))
    await live.asked(kind="approval", question="rm -rf build")
    await live.asked(question="Hurry?", ttl="14m")
    page = words((await ana.looks()).partition("data-nothing")[2])
    texts = ["Expiring", "Hurry?", "Approvals", "rm -rf build", "Questions", "Sooner?", "As soon?", "First?"]
    places = [page.index(text) for text in [*texts, "Snoozed B Snoozed?"]]
    assert places == sorted(places)
    assert "First? shop choice 13 min" in page


@pytest.mark.promise("desk/42")
async def test_a_card_names_agent_folder_and_age_and_the_time_left_when_it_matters(
    live: House, ana: Visitor
) -> None:
    await live.asked(question="First?", workspace="/home/ana/shop", ttl="24h")
    live.clock.now += 720
    page = await ana.looks()
    assert "builder shop" in words(page)
    assert "blocked 12 min" in words(page)
    assert page.count('data-as="left" hidden>') == 2
    live.clock.now += 82080 + 60
    page = await ana.looks()
    assert words(page).count("59 min left") == 2
    assert 'data-as="left" hidden' not in page


@pytest.mark.promise("spec/75")
async def test_an_option_is_chosen_and_sent(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    form = await ana.form("/", "/answer")
    assert form.offered == [("q0", "0"), ("q0", "1"), ("q0", "other")]
    response = await ana.sends(form, ("q0", "1"), ("t0", ""))
    assert (response.status_code, response.headers["location"]) == (
        303,
        f"/?said=answer&about={inquiry['ref']}",
    )
    assert await state(live, inquiry) == ("answered", [["Memcached"]])
    page = words(await ana.looks(response.headers["location"]))
    assert f"Answered {inquiry['ref']}. The agent is being told." in page
    assert "Answered: Memcached — by ana" in page


@pytest.mark.promise("trust/80")
async def test_a_card_names_a_session_of_ones_own_after_its_client_and_its_folder(
    live: House, ana: Visitor
) -> None:
    origin = Origin(
        agent="local", session="s", door="mcp-pipe", workspace="/home/ana/shop", client="claude-code"
    )
    await live.broker.ask(draft(CHOICE), origin)
    assert '<bdi class="agent">claude-code in shop</bdi>' in await ana.looks()


@pytest.mark.promise("poietai/15")
async def test_own_words_are_an_answer(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    form = await ana.form("/", "/answer")
    await ana.sends(form, ("q0", "other"), ("t0", "neither,\r\nwait"))
    assert await state(live, inquiry) == ("answered", [["neither,\nwait"]])


async def test_several_choices_and_several_questions_are_one_form(live: House, ana: Visitor) -> None:
    checks = {"question": "Which checks?", "options": ["lint", "types", "tests"], "multiSelect": True}
    inquiry = await live.asked(questions=[checks, CHOICE, {"question": "Why?"}])
    form = await ana.form("/", "/answer")
    filled = [
        ("q0", "2"),
        ("q0", "0"),
        ("q0", "other"),
        ("t0", "docs"),
        ("q1", "0"),
        ("t1", ""),
        ("t2", "because"),
    ]
    await ana.sends(form, *filled)
    assert await state(live, inquiry) == ("answered", [["lint", "tests", "docs"], ["Redis"], ["because"]])


@pytest.mark.parametrize(("verdict", "value"), [("approve", "Approve"), ("deny", "Deny")])
async def test_an_approval_takes_one_press(live: House, ana: Visitor, verdict: str, value: str) -> None:
    inquiry = await live.asked(kind="approval", question="rm -rf build")
    form = await ana.form("/", "/answer")
    assert form.buttons[:2] == [("verdict", "approve"), ("verdict", "deny")]
    await ana.sends(form, ("verdict", verdict))
    assert await state(live, inquiry) == ("answered", [[value]])


async def test_what_is_approved_is_shown_whole_and_to_the_letter(live: House, ana: Visitor) -> None:
    command = "echo " + "x" * 1500 + " \u202e; rm -rf ~ <b>"
    await live.asked(kind="approval", question=command, context="**not markdown** \u200b")
    page = await ana.looks()
    assert "x" * 1500 + " \\u202e; rm -rf ~ &lt;b&gt;" in page
    assert "**not markdown** \\u200b" in page


@pytest.mark.parametrize(
    ("filled", "sentence"),
    [
        ([("t0", "  ")], "An empty answer is not an answer"),
        ([("q0", "other"), ("t0", "")], "An empty answer is not an answer"),
        ([("q0", "0"), ("t0", "and more")], "Choose an option or write your own words"),
        ([("q0", "7")], "That option is not there any more"),
    ],
)
async def test_a_form_that_cannot_be_sent_comes_back_as_it_was_filled_in(
    live: House, ana: Visitor, filled: list[tuple[str, str]], sentence: str
) -> None:
    inquiry = await live.asked()
    response = await ana.sends(await ana.form("/", "/answer"), *filled)
    assert response.status_code == 422
    assert sentence in response.text
    if ("t0", "and more") in filled:
        assert ">and more</textarea>" in response.text
        assert response.text.count(" checked>") == 1
    assert (await state(live, inquiry))[0] == "open"


async def test_an_approval_without_a_verdict_is_no_answer(live: House, ana: Visitor) -> None:
    inquiry = await live.asked(kind="approval", question="rm -rf build")
    response = await ana.sends(await ana.form("/", "/answer"), ("verdict", "sure"))
    assert response.status_code == 422
    assert (await state(live, inquiry))[0] == "open"


async def test_the_same_form_sent_twice_is_one_answer(live: House, ana: Visitor) -> None:
    await live.asked()
    form = await ana.form("/", "/answer")
    first, second = [await ana.sends(form, ("q0", "0")) for _ in range(2)]
    assert first.headers["location"] == second.headers["location"]


async def test_the_second_to_answer_is_told_what_stands(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    form = await ana.form("/", "/answer")
    await live.answered(inquiry["id"], "Redis", by="ben")
    response = await ana.sends(form, ("q0", "1"))
    page = words(await ana.looks(response.headers["location"]))
    assert "was already settled" in page
    assert "Answered: Redis — by ben" in page


async def test_declining_gives_the_agent_the_reason(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    await ana.sends(await ana.form("/", "/reject"), ("reason", "not today"))
    document = (await live.as_("builder").get(f"/v1/inquiries/{inquiry['id']}")).json()
    assert (document["state"], document["resolution"]["reason"]) == ("rejected", "not today")
    assert document["resolution"]["via"] == "web"


async def test_snoozed_is_set_aside_until_its_time_and_more_time_is_given(live: House, ana: Visitor) -> None:
    await live.asked()
    await ana.sends(await ana.form("/", "/snooze"), ("for", "1h"))
    page = words(await ana.looks())
    assert "Snoozed" in page
    assert "quiet for 1 h" in page or "quiet for 59 min" in page
    live.clock.now += 3601
    assert 'data-place="open"' in await ana.looks()
    live.clock.now += 82000
    assert (await ana.sends(await ana.form("/", "/extend"), ("for", "24h"))).status_code == 303
    assert "24 h left" in words(await ana.looks()) or "23 h left" in words(await ana.looks())


@pytest.mark.promise("spec/7")
async def test_agent_has_it_is_said_when_it_is_true_and_not_before(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    await live.answered(inquiry["id"])
    before = words(await ana.looks(f"/i/{inquiry['id']}"))
    assert "Agent does not have it yet" in before
    assert "Agent has it" not in before
    await live.post("builder", f"{inquiry['id']}/collect")
    assert "Agent has it" in words(await ana.looks(f"/i/{inquiry['id']}"))


@pytest.mark.parametrize("on_expiry", ["expire", "fail"])
async def test_an_expired_question_can_still_be_answered_on_its_page(
    live: House, ana: Visitor, on_expiry: str
) -> None:
    inquiry = await live.asked(question="Which?", options=["a", "b"], ttl="1m", on_expiry=on_expiry)
    live.clock.now += 61
    await live.broker.extend(inquiry["id"], live.access.identify(live.secrets["ana"]), 60)
    form = await ana.form(f"/i/{inquiry['id']}", "/answer")
    assert ("force", "1") in form.fields
    await ana.sends(form, ("q0", "0"))
    assert await state(live, inquiry) == ("answered", [["a"]])


async def test_the_history_is_turned_page_by_page_the_latest_first(live: House, ana: Visitor) -> None:
    for number in range(35):
        inquiry = await live.asked(question=f"Number {number:02}?")
        live.clock.now += 1
        await live.answered(inquiry["id"], "yes")
    first = await ana.looks("/history")
    assert first.index("Number 34?") < first.index("Number 05?")
    assert "Number 04?" not in first
    older = first.partition('href="/history?cursor=')[2].partition('"')[0]
    second = await ana.looks(f"/history?cursor={older}")
    assert "Number 04?" in second
    assert "Number 05?" not in second


async def test_more_than_a_page_of_open_questions_is_turned_too(live: House, ana: Visitor) -> None:
    for number in range(61):
        await live.asked(question=f"Number {number:03}?", ttl="1h" if number == 0 else "1d")
    first = await ana.looks()
    assert "Number 059?" in first
    assert "Number 060?" not in first
    assert "(61) Inbox" in first
    following = first.partition('href="/?cursor=')[2].partition('"')[0]
    # The list is turned as of its first page: what stands in another group by now is not passed over.
    live.clock.now += 3000
    second = await ana.looks(f"/?cursor={following}")
    assert "Number 060?" in second
    assert "Number 059?" not in second
    assert (await ana.client.get("/?cursor=1_2_nonsense")).status_code == 400


@pytest.mark.promise("desk/44")
async def test_every_row_is_a_link_to_a_page_where_its_question_is_answered(
    live: House, ana: Visitor
) -> None:
    await live.asked(question="First?")
    second = await live.asked(question="Second?")
    assert f'href="/i/{second["id"]}"' in await ana.looks()
    form = await ana.form(f"/i/{second['id']}", "/answer")
    response = await ana.sends(form, ("t0", "so"))
    assert response.status_code == 303
    assert await state(live, second) == ("answered", [["so"]])


@pytest.mark.promise("desk/11")
async def test_a_row_has_the_words_of_a_question_and_an_action_as_it_runs(live: House, ana: Visitor) -> None:
    await live.asked(question="**Which** cache? `Redis <1>` is there.\n\nMore below.")
    action = {"tool": "Bash", "input": {"command": "rm *.log `cat list`"}, "cwd": "/srv"}
    await live.asked(kind="approval", action=action)
    page = await ana.looks()
    assert ">Which cache? Redis &lt;1&gt; is there.<" in page
    assert ">rm *.log `cat list`<" in page


async def test_a_filter_works_without_scripts(live: House, ana: Visitor) -> None:
    await live.asked(question="About cats?")
    await live.asked(question="About dogs?")
    page = await ana.looks("/?q=CATS")
    assert "About cats?" in page
    assert "About dogs?" not in page
    assert "Nothing that waits matches this." in await ana.looks("/?q=birds")


async def test_a_secret_answer_is_on_no_page(live: House, ana: Visitor) -> None:
    inquiry = await live.asked(question="Password?", secret=True)
    await ana.sends(await ana.form("/", "/answer"), ("t0", "hunter2"))
    assert await state(live, inquiry) == ("answered", [["hunter2"]])
    for path in ("/", "/history", f"/i/{inquiry['id']}"):
        assert "hunter2" not in await ana.looks(path)


async def test_what_agents_write_is_shown_and_not_obeyed(live: House, ana: Visitor) -> None:
    hostile = "<script>alert(1)</script> ![x](https://evil.example/p.png) [ok](javascript:alert(1)) \u202eabc"
    await live.asked(
        question=hostile,
        header="<b>",
        context=f"{hostile}\n\n<img src=x onerror=alert(1)>\n\n# big\n\n| a |\n|:-:|\n| b |",
        options=[{"label": "<i>1</i>", "description": hostile, "preview": hostile}],
        workspace='/tmp/"><script>',
    )
    page = await ana.looks()
    body = page.partition("<main")[2]
    assert "<script" not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    assert "<img" not in body
    assert "javascript:" not in "".join(part.partition('"')[0] for part in body.split('href="')[1:])
    assert "\u202e" not in page
    assert "style=" not in body


async def test_a_diff_that_is_attached_is_shown_to_the_letter(live: House, ana: Visitor) -> None:
    diff = "@@ -1 +1 @@\n-old <b>\n+new\u202e\n".encode()
    attached = {"name": "change.diff", "data": b64encode(diff).decode(), "media_type": "text/x-diff"}
    inquiry = await live.asked(kind="approval", question="git apply change.diff", attachments=[attached])
    for path in ("/", f"/i/{inquiry['id']}"):
        page = await ana.looks(path)
        assert '<span class="del" data-o="1">-old &lt;b&gt;\n</span>' in page
        assert '<span class="add" data-n="1" data-part>+new\\u202e</span>' in page


async def test_an_attachment_is_a_download_for_those_signed_in(live: House, ana: Visitor) -> None:
    inquiry = await live.asked(
        question="See?", attachments=[{"name": "a.html", "data": "PGI+", "media_type": "text/html"}]
    )
    assert "a.html" in await ana.looks()
    response = await ana.client.get(f"/i/{inquiry['id']}/attachments/0")
    assert response.content == b"<b>"
    assert response.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in response.headers["content-security-policy"]
    assert (await live.as_(None).get(f"/i/{inquiry['id']}/attachments/0")).status_code == 401


@pytest.mark.parametrize("path", ["/i/nowhere", "/static/../app.py", "/static/nothing.js"])
async def test_what_is_not_there_is_a_page_that_says_so(ana: Visitor, path: str) -> None:
    response = await ana.client.get(path)
    assert response.status_code == 404


async def test_the_language_is_the_browsers_until_another_is_picked(live: House, ana: Visitor) -> None:
    german = await ana.client.get("/", headers={"Accept-Language": "fr;q=0.2, de-AT, en;q=0.5"})
    assert '<html lang="de">' in german.text
    assert '<html lang="zh-CN">' in (await ana.client.get("/", headers={"Accept-Language": "zh-TW"})).text
    await ana.looks("/?lang=ja")
    assert '<html lang="ja">' in await ana.looks()
    assert '<html lang="ja">' in await ana.looks("/?lang=xx")


async def test_static_files_are_sent_once(ana: Visitor) -> None:
    first = await ana.client.get("/static/upcall.css")
    again = await ana.client.get("/static/upcall.css", headers={"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


async def test_lists_are_narrowed_by_what_stands_in_the_address(live: House, ana: Visitor) -> None:
    await live.asked(question="Which shop?", workspace="/srv/shop")
    await live.asked(question="Which <api>?", workspace="/srv/api & more")
    await live.asked("painter", kind="approval", question="rm -rf paint")
    for path, found in {
        "/?workspace=/srv/shop": ["Which shop?"],
        "/?workspace=%2Fsrv%2Fapi+%26+more": ["Which &lt;api&gt;?"],
        "/?agent=painter": ["rm -rf paint"],
        "/?kind=approval": ["rm -rf paint"],
        "/?kind=approval&agent=builder": [],
        "/?kind=nonsense&agent=builder": ["Which shop?", "Which &lt;api&gt;?"],
        "/?q=which+shop&agent=builder": ["Which shop?"],
    }.items():
        page = await ana.looks(path)
        shown = [text for text in ("Which shop?", "Which &lt;api&gt;?", "rm -rf paint") if text in page]
        assert shown == found, path
    # What can be chosen does not shrink with what is chosen.
    page = await ana.looks("/?agent=painter")
    assert '<option value="builder">' in page
    assert '<option value="painter" selected>' in page
    assert '<option value="/srv/api &amp; more">' in page


async def test_the_history_is_searched_and_pages_keep_what_was_searched_for(
    live: House, ana: Visitor
) -> None:
    for number in range(32):
        inquiry = await live.asked(question=f"Number {number:02} of many?")
        await live.answered(inquiry["id"], "ultramarine" if number else "crimson")
    assert "Number 00" in await ana.looks("/history?q=crim")
    first = await ana.looks("/history?q=ultramarine+many&agent=builder")
    assert "Number 31" in first
    following = first.partition('href="/history?q=')[2].partition('"')[0].replace("&amp;", "&")
    last = await ana.looks(f"/history?q={following}")
    assert "Number 01" in last
    assert "Number 00" not in last
    assert 'href="/history?q=ultramarine+many&amp;agent=builder"' in last
    assert "Nothing in the history matches this." in await ana.looks("/history?q=crimson+31")


async def test_a_secret_answer_is_not_searched_for(live: House, ana: Visitor) -> None:
    inquiry = await live.asked(question="Password?", secret=True)
    await live.answered(inquiry["id"], "hunter2")
    assert "Nothing in the history matches this." in await ana.looks("/history?q=hunter2")
    assert "Password?" in await ana.looks("/history?q=password")


async def test_shown_is_said_once_it_was_on_a_screen(live: House, ana: Visitor) -> None:
    inquiry = await live.asked()
    other = await live.asked()
    one = f"/i/{inquiry['id']}"
    # That a page was sent proves nothing.
    assert "Shown" not in words(await ana.looks(one))
    live.clock.now += 60
    token = (await ana.form("/sessions", "/sign-out")).fields[0]
    for _ in range(2):
        told = Form("/inbox/shown", [token, ("id", inquiry["id"]), ("id", "nothing"), ("id", other["ref"])])
        assert (await ana.sends(told)).status_code == 204
    page = words(await ana.looks(one))
    assert page.index("Asked") < page.index("Shown")
    assert "inbox:ana" in page
    assert "2027-01-15 08:01 UTC" in page
    await live.answered(inquiry["id"])
    page = words(await ana.looks("/history"))
    assert page.index("Shown") < page.index("Answered 2027")
    events = (await live.as_("ana").get("/v1/events")).json()["items"]
    assert [event["inquiry"] for event in events if event["type"] == "shown"] == [inquiry["id"]]


async def test_the_page_for_an_unreachable_daemon_has_nothing_private(live: House, ana: Visitor) -> None:
    await live.asked(question="Which business is it?")
    for page in (await ana.looks("/offline"), (await ana.client.get("/service-worker.js")).text):
        assert "business" not in page
    assert "ana" not in words(await ana.looks("/offline"))


@pytest.mark.promise("desk/49")
async def test_the_filter_of_agents_has_all_of_them_also_beyond_what_is_drawn(
    live: House, ana: Visitor
) -> None:
    for number in range(500):
        asker = Origin(agent=f"agent-{number:03}", session=f"s{number}", door="api")
        await live.broker.ask(draft({"question": f"Number {number}?", "ttl": "24h"}), asker)
    page = await ana.looks()
    offered = page.partition('<select name="agent"')[2].partition("</select>")[0]
    assert offered.count('<option value="agent-') == 500
    assert page.count('<li class="row"') < 500


@pytest.mark.promise("desk/54")
async def test_a_row_comes_before_its_card_and_a_page_cut_off_in_between_gets_both_again(
    live: House, ana: Visitor
) -> None:
    asked = await live.asked(question="Go on?")
    first = await frames(ana, "?view=inbox&after=0")
    assert [frame["event"] for frame in first] == ["row", "card"]
    row, card = first
    assert f'id="row-{asked["id"]}"' in row["data"]
    assert f'id="i-{asked["id"]}"' in card["data"]
    assert "row-" not in card["data"]
    again = await frames(ana, "?view=inbox", last=row["id"])
    assert [(frame["event"], frame["id"]) for frame in again] == [("row", row["id"]), ("card", card["id"])]


async def frames(ana: Visitor, query: str, last: str = "") -> list[dict[str, str]]:
    """What a stream tells first, up to and with a card."""
    told: list[dict[str, str]] = [{}]
    headers = {"Last-Event-ID": last} if last else {}
    async with ana.client.stream("GET", f"/inbox/stream{query}", headers=headers) as stream:
        async for line in stream.aiter_lines():
            name, _, value = line.partition(": ")
            if name:
                told[-1][name] = told[-1].get(name, "") + value
            elif told[-1].get("event") == "card":
                break
            else:
                told.append({})
    return [frame for frame in told if "event" in frame]
