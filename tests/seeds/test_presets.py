"""What the presets change where nothing but settings is needed for it."""

from pathlib import Path

import pytest

from upcall.config.settings import Config, load
from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Kind
from upcall.doors.mcp.definitions import definitions
from upcall.home.files import Home


@pytest.fixture
def deepchat(tmp_path: Path) -> Config:
    return load(Home(tmp_path), {"UPCALL_PRESET": "deepchat"})


def test_the_tool_question_is_offered_under_deepchat_with_its_limits(deepchat: Config) -> None:
    tools = {tool.name: tool for tool in definitions(deepchat.limits, deepchat.tool_aliases)}
    schema = str(tools["question"].schema)
    for stated in ("'maxLength': 500", "'maxItems': 10", "'maxLength': 30", "'maxLength': 200"):
        assert stated in schema
    asked = draft(
        {
            "header": "DB",
            "question": "Which?",
            "options": [{"label": "A"}],
            "multiple": True,
            "custom": False,
        },
        deepchat.limits,
    )
    (question,) = asked.questions
    assert (asked.kind, question.multi, question.custom) == (Kind.CHOICE, True, False)


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "x" * 501},
        {"question": "?", "options": [str(number) for number in range(11)]},
        {"question": "?", "options": ["x" * 31]},
        {"question": "?", "options": [{"label": "a", "description": "x" * 201}]},
    ],
)
def test_the_limits_of_deepchat_are_kept(deepchat: Config, fields: dict[str, object]) -> None:
    with pytest.raises(InvalidInquiry):
        draft(fields, deepchat.limits)


def test_without_the_preset_there_is_no_tool_question() -> None:
    assert "question" not in {tool.name for tool in definitions(Config().limits, Config().tool_aliases)}
