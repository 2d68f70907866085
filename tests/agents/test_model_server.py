"""The scripted model is as strict as what it stands in for, and says plainly when a script does not fit."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.agents.dialect import Json
from tests.agents.model_server import TITLE, Model
from tests.agents.script import Call, Conversation, Say

SCHEMA = {"type": "object", "properties": {}}
ASK = "mcp__upcall__ask_human"
OFFERS: dict[str, tuple[str, Json, Json]] = {
    "messages": (
        "/v1/messages",
        {"model": "m", "messages": [{"role": "user", "content": "Hello"}]},
        {"tools": [{"name": ASK, "input_schema": SCHEMA}]},
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hello"}]},
        {
            "tools": [
                {"type": "namespace", "name": "upcall", "tools": [{"type": "function", "name": "ask_human"}]}
            ]
        },
    ),
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "Hello"}]},
        {"tools": [{"type": "function", "function": {"name": "upcall_ask_human"}}]},
    ),
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
        {"tools": [{"functionDeclarations": [{"name": "mcp_upcall_ask_human"}]}]},
    ),
}
"""A path, a request that offers no tools, and the tools that make it a turn of the conversation."""

every_dialect = pytest.mark.parametrize(("path", "plain", "tools"), OFFERS.values(), ids=OFFERS)


@pytest.fixture
def strict() -> Iterator[Model]:
    """A model with the problems that the test is about."""
    with Model() as model:
        yield model


def request(model: Model, path: str, body: Json) -> tuple[int, str]:
    sent = urllib.request.Request(f"{model.url}{path}", data=json.dumps(body).encode())
    try:
        with urllib.request.urlopen(sent, timeout=30) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code, refusal.read().decode()


@every_dialect
def test_a_tool_is_found_whatever_a_program_calls_it(
    model: Model, path: str, plain: Json, tools: Json
) -> None:
    model.play(Call("ask_human", {"question": "Which?"}))

    status, reply = request(model, path, plain | tools)

    assert status == 200
    assert "ask_human" in reply
    assert "Which?" in reply
    assert model.conversations[0].prompts == ["Hello"]


@every_dialect
def test_an_aside_leaves_the_script_alone(model: Model, path: str, plain: Json, tools: Json) -> None:
    model.play(Say("First."))

    assert request(model, path, plain)[0] == 200
    assert model.left == 1
    assert "First." in request(model, path, plain | tools)[1]
    assert len(model.conversations) == 1


@every_dialect
def test_a_title_is_an_aside_although_tools_are_offered(
    model: Model, path: str, plain: Json, tools: Json
) -> None:
    model.play(Say("First."))
    wants_title = json.loads(json.dumps(plain | tools).replace("Hello", f"{TITLE} for it."))

    assert "Fine." in request(model, path, wants_title)[1]
    assert model.left == 1
    assert "First." in request(model, path, plain | tools)[1]


@every_dialect
def test_a_script_that_is_over_is_a_failure_that_says_so(
    strict: Model, path: str, plain: Json, tools: Json
) -> None:
    status, reply = request(strict, path, plain | tools)

    assert status == 400
    assert "the script is over" in reply
    with pytest.raises(AssertionError, match="the script is over"):
        strict.check()


@every_dialect
def test_a_tool_that_is_not_on_offer_is_a_failure_that_names_those_that_are(
    strict: Model, path: str, plain: Json, tools: Json
) -> None:
    strict.play(Call("launch_rocket"))

    assert request(strict, path, plain | tools)[0] == 400
    with pytest.raises(AssertionError, match=r"'launch_rocket', which names 0 tools of: \w*ask_human"):
        strict.check()


def test_a_call_without_a_result_is_refused_as_the_vendors_do(strict: Model) -> None:
    strict.play(Say("Never said."))
    path, plain, tools = OFFERS["messages"]
    call = {"type": "tool_use", "id": "toolu_1", "name": ASK, "input": {}}
    history = [*plain["messages"], {"role": "assistant", "content": [call]}]

    assert request(strict, path, plain | tools | {"messages": history})[0] == 400
    with pytest.raises(AssertionError, match="'toolu_1' has no result"):
        strict.check()


def test_a_mistake_in_a_script_is_a_failure_and_not_a_hang(strict: Model) -> None:
    def mistaken(heard: Conversation) -> Say:
        return Say(heard.results[0])

    strict.play(mistaken)
    path, plain, tools = OFFERS["chat"]

    assert request(strict, path, plain | tools)[0] == 400
    with pytest.raises(AssertionError, match="IndexError"):
        strict.check()


def test_the_model_is_no_way_out_into_the_world(model: Model) -> None:
    through = urllib.request.build_opener(urllib.request.ProxyHandler({"https": model.url}))

    with pytest.raises(OSError, match="403"):
        through.open("https://example.com/", timeout=30)
