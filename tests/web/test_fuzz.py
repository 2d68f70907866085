"""Every request gets one of the documented replies, and none is our own fault."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.web.house import House, code
from upcall.domain.inquiry.limits import Limits
from upcall.web.api.schemas import schemas

pytestmark = pytest.mark.thorough

SCHEMAS: dict[str, Any] = schemas(Limits())
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None), max_size=40)
    | st.sampled_from(
        ["10m", "approval", "Approve", "text", "[]", "{", "default", "1", "true", "2027-01-15T09:00:00Z"]
    )
)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)
QUESTION = st.fixed_dictionaries({}, optional=dict.fromkeys(SCHEMAS["QuestionForm"]["properties"], ANYTHING))
ASK = st.fixed_dictionaries(
    {"question": st.just("Which?") | ANYTHING},
    optional={
        name: ANYTHING for name in SCHEMAS["Ask"]["properties"] if name not in {"question", "questions"}
    },
) | st.fixed_dictionaries({"questions": st.lists(QUESTION, max_size=5) | ANYTHING})
ANSWER = st.fixed_dictionaries({}, optional=dict.fromkeys(SCHEMAS["AnswerForm"]["properties"], ANYTHING))
ANSWERS = ANSWER | st.fixed_dictionaries(
    {"answers": st.lists(st.lists(st.text(max_size=9), max_size=3), max_size=3)}
)
STEP = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("for", "seconds", "until", "reason", "via", "key"), ANYTHING)
)

# Each example works on the same installation, which is what makes it fast; none of them needs a fresh one.
lenient = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=100
)


def _json(body: object) -> bytes:
    return json.dumps(body).encode()


@lenient
@given(body=ASK)
async def test_asking_anything_is_201_200_or_a_described_error(house: House, body: object) -> None:
    response = await house.as_("builder").post("/v1/inquiries", content=_json(body))
    if response.status_code not in {200, 201}:
        assert code(response)[0] in {400, 403, 409, 422, 429}
    else:
        again = await house.as_("builder").get(f"/v1/inquiries/{response.json()['id']}")
        assert again.json() == response.json()


@lenient
@given(body=ANSWERS)
async def test_answering_anything_is_200_or_a_described_error(house: House, body: object) -> None:
    asked = await house.asked(questions=[{"question": "a", "options": ["x", "y"], "multiSelect": True}, "b"])
    response = await house.as_("ana").post(f"/v1/inquiries/{asked['id']}/answer", content=_json(body))
    now = (await house.as_("ana").get(f"/v1/inquiries/{asked['id']}")).json()
    if response.status_code == 200:
        assert response.json()["accepted"]
        assert now["state"] == "answered"
        assert all(any(value.strip() for value in values) for values in now["answer"]["answers"])
    else:
        assert code(response)[0] in {400, 422}
        assert now == asked


@lenient
@given(body=STEP, action=st.sampled_from(["snooze", "extend", "reject", "cancel"]))
async def test_any_other_step_is_200_or_a_described_error(house: House, body: object, action: str) -> None:
    asked = await house.asked()
    response = await house.as_("root").post(f"/v1/inquiries/{asked['id']}/{action}", content=_json(body))
    if response.status_code != 200:
        assert code(response)[0] == 400


@lenient
@given(raw=st.binary(max_size=60))
async def test_any_bytes_as_a_body_are_never_our_fault(house: House, raw: bytes) -> None:
    response = await house.as_("builder").post("/v1/inquiries", content=raw)
    assert code(response)[0] in {400, 422}


@lenient
@given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20), query=st.text(max_size=20))
async def test_any_name_and_query_is_never_our_fault(house: House, name: str, query: str) -> None:
    for path in ("/v1/inquiries/{}/wait", "/v1/inquiries/{}", "/v1/tokens/{}", "/{}"):
        method = "DELETE" if "tokens" in path else "GET"
        where = path.format(quote(name, safe="")) + "?" + quote(query, safe="=&")
        response = await house.as_("root").request(method, where)
        assert response.status_code < 500
