"""Typed answers: what a program asks for as a type, a person fills in as a form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import Enum
from functools import partial
from typing import Any, Literal

import pydantic
import pytest

import upcall
from tests.client.program import Crew
from upcall.client.response import schema_of


class Region(Enum):
    EUROPE = "eu"
    AMERICA = "us"


@dataclass(frozen=True)
class Deploy:
    where: Literal["staging", "production"]
    copies: int = field(metadata={"minimum": 1, "maximum": 9, "title": "How many"})
    region: Region = Region.EUROPE
    checks: Sequence[Literal["lint", "tests"]] = ()
    share: float = 1.0
    on: date | None = None
    at: datetime | None = None
    note: str | None = None
    dry: bool = False


class Port(pydantic.BaseModel):
    port: int = pydantic.Field(ge=1, le=65535)
    name: str = ""

    @pydantic.field_validator("name")
    @classmethod
    def no_spaces(cls, name: str) -> str:
        if " " in name:
            raise ValueError("a name has no spaces")
        return name


@pytest.mark.promise("programs/2")
async def test_a_dataclass_is_asked_as_a_form_and_comes_back_filled_in(crew: Crew) -> None:
    filled = {"where": "production", "copies": 3, "region": "us", "checks": ["tests"], "share": 2}
    filled |= {"on": "2030-01-31", "at": "2030-01-31T09:00:00Z", "dry": True}

    answer = await answered_with(crew, partial(crew.asker.ask, "Where to?", response=Deploy), filled)

    assert answer.value == Deploy(
        where="production",
        copies=3,
        region=Region.AMERICA,
        checks=["tests"],
        share=2.0,
        on=date(2030, 1, 31),
        at=datetime(2030, 1, 31, 9, tzinfo=UTC),
        dry=True,
    )


@pytest.mark.promise("programs/2")
async def test_what_does_not_fit_is_refused_where_the_person_sends_it(crew: Crew) -> None:
    async def try_twice(ref: str) -> None:
        refused = await crew.house.post("ana", f"{ref}/answer", content={"where": "mars", "copies": 99})
        assert refused.status_code == 422, refused.text
        await crew.fill_in(ref, {"where": "staging", "copies": 1})

    answer = await crew.outcome_of(partial(crew.asker.ask, "Where to?", response=Deploy), try_twice)

    assert isinstance(answer, upcall.Answered)
    assert answer.value == Deploy(where="staging", copies=1)


@pytest.mark.promise("programs/2")
async def test_a_pydantic_model_is_asked_and_validated(crew: Crew) -> None:
    ask = partial(crew.asker.ask, "Which port?", response=Port)

    assert (await answered_with(crew, ask, {"port": 8080, "name": "web"})).value == Port(
        port=8080, name="web"
    )
    parked = await ask(key="call-17", timeout=0)
    await crew.fill_in(parked.ref, {"port": 8080, "name": "the web"})
    with pytest.raises(upcall.errors.UnfitResponse, match="a name has no spaces") as unfit:
        await ask(key="call-17")
    assert unfit.value.code == "unfit_response"
    assert unfit.value.hint


@pytest.mark.promise("programs/2")
async def test_a_schema_is_asked_as_it_is_and_the_value_is_what_was_filled_in(crew: Crew) -> None:
    schema = {"type": "object", "properties": {"port": {"type": "integer", "maximum": 9999}}}

    answer = await answered_with(
        crew, partial(crew.asker.ask, "Which port?", response=schema), {"port": 8080}
    )

    assert answer.value == {"port": 8080}


async def test_an_outcome_without_an_answer_has_no_value(crew: Crew) -> None:
    assert isinstance(await crew.asker.ask("Which port?", response=Port, timeout=0), upcall.Parked)


@pytest.mark.promise("programs/2")
def test_a_type_that_no_form_could_ask_for_is_named() -> None:
    @dataclass
    class Tree:
        left: dict[str, int]

    with pytest.raises(TypeError, match=r"no form could ask for 'left' of type dict\[str, int\]"):
        schema_of(Tree)
    with pytest.raises(TypeError, match="a dataclass or a pydantic model, got <class 'int'>"):
        schema_of(int)


async def answered_with(crew: Crew, ask: Any, filled: dict[str, Any]) -> Any:
    """The answer of a person who fills the form in like this."""
    return await crew.outcome_of(ask, lambda ref: crew.fill_in(ref, filled))
