"""Plans over HTTP and in the inbox: decided by name, with comments on lines, drawn block by block, and compared with the one before."""

import pytest
from markupsafe import Markup

from tests.web.house import House, code
from tests.web.visitor import Visitor, words
from upcall.cli.render.plans import numbered
from upcall.domain.answer.comments import read as remarks_in
from upcall.web.pages.markdown import blocks

PLAN = "# Cache\n\n1. Install **Redis**\n2. Write `cache.txt`\n\nThen stop.\n\n```sh\nmake\n```"
ASKED = {"kind": "plan", "question": "Shall this plan be carried out?", "context": PLAN}
NEXT = {**ASKED, "context": PLAN.replace("Redis", "Memcached")}


@pytest.mark.promise("raised/12")
async def test_a_plan_is_its_own_kind_with_a_decision_and_comments_in_its_answer(house: House) -> None:
    asked = await house.asked(**ASKED)
    assert (asked["kind"], asked["plan"]) == ("plan", {"before": None, "difference": None})
    comments = [{"line": 3, "text": "Memcached"}, {"passage": "cache.txt", "text": "store.txt"}]
    sent = {"decision": "revise", "comments": comments, "note": "Nearly."}
    answer = (await house.post("ana", f"{asked['ref']}/answer", **sent)).json()["inquiry"]["answer"]
    assert (answer["decision"], answer["answers"], answer["note"]) == ("revise", [["Revise"]], "Nearly.")
    assert answer["comments"] == [
        {"text": "Memcached", "passage": "1. Install **Redis**", "line": 3},
        {"text": "store.txt", "passage": "cache.txt", "line": 4},
    ]
    again = await house.asked(**NEXT)
    assert again["plan"]["before"] == PLAN
    assert "-1. Install **Redis**\n+1. Install **Memcached**" in again["plan"]["difference"]


async def test_what_cannot_be_decided_is_refused_and_the_plan_stays_open(house: House) -> None:
    asked = await house.asked(**ASKED)
    question = await house.asked()
    at = f"{asked['ref']}/answer"
    assert code(await house.post("ana", at, decision="bypass")) == (400, "invalid_request")
    assert code(await house.post("ana", at, decision="revise")) == (422, "unreadable_answer")
    assert code(await house.post("ana", at, decision="approve", note="quickly")) == (422, "note_unread")
    bad = {"decision": "revise", "comments": [{"line": 99, "text": "x"}]}
    assert code(await house.post("ana", at, **bad)) == (400, "invalid_request")
    other = {"text": "Redis", "comments": [{"text": "x"}]}
    assert code(await house.post("ana", f"{question['ref']}/answer", **other)) == (400, "invalid_request")
    assert (await house.as_("ana").get(f"/v1/inquiries/{asked['ref']}")).json() == asked


@pytest.mark.promise("raised/12", "raised/13", "raised/15")
async def test_a_plan_is_drawn_with_lines_to_comment_on_and_decided_without_a_script(
    live: House, ana: Visitor
) -> None:
    asked = await live.asked(**ASKED)
    page = await ana.looks(f"/i/{asked['ref']}")
    for drawn in (
        "<strong>Redis</strong>",
        "<code>cache.txt</code>",
        'data-line="3"',
        'data-line="6"',
        'start="2"',
    ):
        assert drawn in page, drawn
    form = await ana.form(f"/i/{asked['ref']}", "/answer")
    empty = await ana.sends(form, ("decision", "revise"), ("note", " "))
    assert (empty.status_code, "Write what should change" in empty.text) == (422, True)
    noted = await ana.sends(form, ("decision", "approve"), ("note", "L3: no"))
    assert (noted.status_code, "L3: no</textarea>" in noted.text) == (422, True)
    await ana.sends(form, ("decision", "revise"), ("note", "L3: no\r\n\r\n> Then stop.\r\nwhy?"))
    answer = (await live.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()["answer"]
    assert [(each["line"], each["text"]) for each in answer["comments"]] == [(3, "no"), (6, "why?")]
    settled = words(await ana.looks(f"/i/{asked['id']}"))
    assert "Answered: Revise — by ana" in settled
    assert "Line 3: &gt; 1. Install **Redis** no" in settled

    again = await live.asked(**NEXT)
    assert "Changed since the plan before" in await ana.looks(f"/i/{again['ref']}")
    form = await ana.form(f"/i/{again['ref']}", "/answer")
    await ana.sends(form, ("decision", "accept_edits"), ("note", ""))
    decided = (await live.as_("ana").get(f"/v1/inquiries/{again['id']}")).json()
    assert decided["answer"]["decision"] == "accept_edits"


def test_every_block_has_the_number_of_its_first_line() -> None:
    lines = [(line, str(html.striptags())) for line, html in blocks(f"\n{PLAN}")]
    assert lines == [
        (2, "Cache"),
        (4, "Install Redis"),
        (5, "Write cache.txt"),
        (7, "Then stop."),
        (9, "make"),
    ]
    long = "word " * 2000 + "\n\n" + "more " * 3000
    assert [line for line, _ in blocks(long)] == [1, 3]


@pytest.mark.parametrize(
    "plan",
    [
        "\u200b\n\nInstall it.\n\nThen stop.",
        "First\rlook.\vThen\u2028write.\n\nThen stop.",
        "\x1b[1m\n\nThen stop.",
    ],
)
def test_the_number_of_a_line_is_the_same_on_the_page_on_the_terminal_and_in_a_comment(plan: str) -> None:
    [number] = [line for line, html in blocks(plan) if html.striptags() == "Then stop."]
    assert numbered(plan)[number - 1] == f"{number} │ Then stop."
    [comment] = remarks_in(f"L{number}: not yet", plan).comments
    assert (comment.line, comment.passage) == (number, "Then stop.")


def test_an_item_with_items_of_its_own_has_the_number_of_its_first_line() -> None:
    text = "# Plan\n\n1. a\n2. b\n   - c\n   - d\n3. e\n"
    assert [line for line, _ in blocks(text)] == [1, 3, 4, 7]
    # Each of its own has one, too.
    drawn = [str(html.striptags()) for _, html in blocks(f"\n{text}", lambda line: Markup(f"[{line}]"))]
    assert drawn == ["Plan", "a", "b [6]c [7]d", "e"]
