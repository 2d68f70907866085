"""The route table of the API: every operation once, with its handler, who may call it, its request and its replies.

`app.py` serves this table, `openapi.py` describes it. A row adds a route, and `operation_ids.py` names it.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from upcall.web.api.agent_questions import AgentQuestionHandlers
from upcall.web.api.answer_links import AnswerLinkHandlers
from upcall.web.api.approvals import ApprovalHandlers
from upcall.web.api.away import AwayHandlers
from upcall.web.api.channels import ChannelHandlers, PeopleHandlers
from upcall.web.api.corrections import CorrectionHandlers
from upcall.web.api.daemon import DaemonHandlers
from upcall.web.api.decisions import DecisionHandlers
from upcall.web.api.endpoint import (
    AGENTS,
    PUBLIC,
    Endpoint,
    Replies,
    admins,
    path,
    people,
    query,
    reply,
    takes,
)
from upcall.web.api.inquiries import InquiryHandlers
from upcall.web.api.metrics import MetricsHandlers
from upcall.web.api.rules import RuleHandlers
from upcall.web.api.runs import RunHandlers
from upcall.web.api.schemas.words import (
    COUNT,
    KIND,
    LISTED_STATE,
    OBJECT,
    RUN_STATE,
    TEXT,
    WAIT_SPAN,
    Schema,
    ref,
    text,
)
from upcall.web.api.settings import SettingsHandlers
from upcall.web.api.sign_in_links import SignInLinkHandlers
from upcall.web.api.stream import EventHandlers
from upcall.web.api.threads import ThreadHandlers
from upcall.web.api.tokens import TokenHandlers

INQUIRY, RUN, THREAD = "/v1/inquiries/{name}", "/v1/runs/{number}", "/v1/threads/{name}"
ANSWER = takes("AnswerForm", {"answers": [["Redis"]]})
DECISION = takes("DecisionForm", {"inquiries": ["a7", "c4"], "decision": "approve", "hold": 4})
REPLY = takes("AgentReplyForm", {"agent_id": "claude", "reply": "Redis"})
RUN_FORM = takes("RunForm", {"agent": "claude", "task": "Fix the flaky test", "cwd": "/home/ana/shop"})
NEW_THREAD = takes("ThreadForm", {"id": "shop-42", "title": "The shop"})
POST = takes("ThreadPost", {"content": [{"type": "text", "text": "use the new API"}]})
RESOLVE = takes("ResolveForm", {"prompt_id": "prm_01J", "text": "1"})
ASK = takes(
    "Ask",
    {
        "question": "Which cache?",
        "options": [{"label": "Redis", "description": "has pub/sub"}, {"label": "Memcached"}],
        "request_key": "call_17",
        "ttl": "2h",
    },
)
APPROVAL = takes(
    "ApprovalForm",
    {
        "action": {"tool": "Bash", "input": {"command": "npm test"}, "cwd": "/home/ana/shop"},
        "request_key": "call_18",
    },
)
AWAY = takes("AwayForm", {"mode": "on"})
RULE = takes(
    "RuleForm", {"agent": "claude", "prefix": "npm test", "directory": "/home/ana/project", "for": "30d"}
)


def _end(reason: str, form: str = "EndForm") -> Schema:
    return takes(form, {"reason": reason})


def _span(span: str) -> Schema:
    return takes("SpanForm", {"for": span})


def _limit(most: int, default: int) -> Schema:
    return query("limit", {"type": "integer", "minimum": 1, "maximum": most, "default": default})


def _after(meaning: str) -> Schema:
    return query("after", COUNT, meaning)


PAGING = (_limit(200, 50), query("cursor", TEXT))
FILTERS = (
    query("state", LISTED_STATE),
    query("agent", TEXT),
    query("workspace", TEXT),
    query("run", {"type": "integer", "minimum": 1}),
    query("kind", KIND),
    query("q", text(most=500)),
    *PAGING,
)
TIMEOUT = (query("timeout", {**WAIT_SPAN, "default": 30}, "At most 3600 seconds, or 0."),)
WAIT = query("wait", {**WAIT_SPAN, "default": 0}, "At most 300 seconds.")
KNOWN = _after("The last number that is known already.")
LOG = (KNOWN, WAIT, _limit(1000, 200))
RESUMED: tuple[Schema, ...] = (KNOWN, {"name": "Last-Event-ID", "in": "header", "schema": COUNT})
LINES = (
    _after("The `next_after` of the lines before."),
    WAIT,
    query("raw", {"enum": [0, 1], "default": 0}, "1 for what it wrote, to the letter."),
)
ITEMS = (_after("The `next_after` of the items before."), WAIT, _limit(200, 50))
TURN = (_after("The `next_after` of the turn before: its messages have arrived."), WAIT)


OK = partial(reply, 200)
CREATED = partial(reply, 201)
STREAM = partial(reply, 200, TEXT, media="text/event-stream")
FILE = OK(
    {"type": "string", "format": "binary"},
    "The file, under the type that its asker gave where a browser may be trusted with it.",
    media="application/octet-stream",
    example="+ cache = Redis()",
)
ASKED = CREATED("Inquiry") | OK("Inquiry", "The same question, put before under the same key, as it stands.")
APPROVED = CREATED("Approval", "A person is asked.") | OK(
    "Approval",
    "What allows it already, or the same action, asked about before under the same key, as it stands.",
)
EVENTS = STREAM(
    "Server-sent events: `id` is `seq`, `event` is `type`, `data` an Event. Comments keep it alive. "
    "A `reset` comes first when events were pruned that you have not seen.",
    example='id: 42\nevent: answered\ndata: {"seq": 42, "type": "answered", …}\n\n',
)
QUESTIONS = STREAM(
    "Server-sent events `agent-question`; their `data` has `agent_id`, `question` and the inquiry's `id`.",
    example='id: 41\nevent: agent-question\ndata: {"agent_id": "builder", "question": "Which cache?", …}\n\n',
)
BEGUN = CREATED("Run") | OK("Run", "The same run, started before under the same key, as it stands.")
THREAD_BEGUN = CREATED("Thread") | OK("Thread", "The one of that name, as it is.")
POSTED = CREATED("ThreadPosted") | OK("ThreadPosted", "Nothing: it was about a prompt that is over.")
LEFT = OK("ThreadItems", "Those messages, again until `after` says that they arrived.")
ILL = reply(
    503, {"oneOf": [ref("Health"), ref("Error")]}, "It is about to stop, or cannot read its database."
)
METRICS = OK(
    TEXT, "OpenMetrics where it is asked for.", media="text/plain", example="upcall_open_inquiries 3\n"
)
ALL, WATCHERS = replace(AGENTS, monitors=True), replace(people("read metrics"), monitors=True)
BARE: Replies = {200: {"description": "It runs."}}

# Those of an inquiry's life stand first: routes are tried in this order.
TABLE: Mapping[str, tuple[Endpoint, ...]] = {
    "asking": (
        Endpoint("POST /v1/inquiries", InquiryHandlers.ask, AGENTS, ASKED, ASK),
        Endpoint("POST /v1/approvals", ApprovalHandlers.approve, AGENTS, APPROVED, APPROVAL),
        Endpoint(f"GET {INQUIRY}/wait", EventHandlers.wait, AGENTS, OK("Inquiry"), parameters=TIMEOUT),
        Endpoint(f"GET {INQUIRY}", InquiryHandlers.get, AGENTS, OK("Inquiry")),
        Endpoint(f"POST {INQUIRY}/collect", InquiryHandlers.collect, AGENTS, OK("Settled")),
        Endpoint(
            f"POST {INQUIRY}/cancel", InquiryHandlers.cancel, AGENTS, OK("Settled"), _end("found it myself")
        ),
    ),
    "answering": (
        Endpoint(f"POST {INQUIRY}/answer", InquiryHandlers.answer, people("answer"), OK("Settled"), ANSWER),
        Endpoint("GET /v1/inquiries", InquiryHandlers.list, AGENTS, OK("InquiryList"), parameters=FILTERS),
        Endpoint(
            f"POST {INQUIRY}/reject",
            InquiryHandlers.reject,
            people("reject"),
            OK("Settled"),
            _end("not now", "DeclineForm"),
        ),
        Endpoint(f"POST {INQUIRY}/undo", InquiryHandlers.undo, people("undo"), OK("Settled")),
        Endpoint(
            f"POST {INQUIRY}/ask-back",
            CorrectionHandlers.ask_back,
            people("ask back"),
            OK("Settled"),
            takes("AskBackForm", {"text": "Which version?"}),
        ),
        Endpoint(
            f"POST {INQUIRY}/correct",
            CorrectionHandlers.correct,
            people("correct"),
            OK("Corrected"),
            takes("CorrectionForm", {"text": "Memcached, after all"}),
        ),
        Endpoint("POST /v1/decisions", DecisionHandlers.decide, people("decide"), OK("Decided"), DECISION),
        Endpoint(
            f"POST {INQUIRY}/snooze", InquiryHandlers.snooze, people("snooze"), OK("Settled"), _span("1h")
        ),
        Endpoint(
            f"POST {INQUIRY}/extend", InquiryHandlers.extend, people("extend"), OK("Settled"), _span("24h")
        ),
        Endpoint(
            f"GET {INQUIRY}/attachments/{{number}}",
            InquiryHandlers.attachment,
            AGENTS,
            FILE,
            parameters=(path("number", COUNT),),
        ),
        Endpoint(
            f"GET {INQUIRY}/files/{{number}}",
            InquiryHandlers.answer_file,
            AGENTS,
            FILE,
            parameters=(path("number", COUNT),),
        ),
        Endpoint(
            f"POST {INQUIRY}/links",
            AnswerLinkHandlers.create,
            people("make answer links"),
            CREATED("AnswerLink"),
            takes("AnswerLinkForm", {"person": "ana"}),
        ),
        Endpoint(
            "POST /v1/answer-agent", AgentQuestionHandlers.answer, people("answer"), OK("Settled"), REPLY
        ),
    ),
    "events": (
        Endpoint("GET /v1/events", EventHandlers.events, AGENTS, OK("EventList"), parameters=LOG),
        Endpoint("GET /v1/stream", EventHandlers.stream, AGENTS, EVENTS, parameters=RESUMED),
        Endpoint(
            "GET /v1/agent-questions",
            AgentQuestionHandlers.stream,
            people("hear of all questions"),
            QUESTIONS,
            parameters=RESUMED,
        ),
    ),
    "runs": (
        Endpoint("POST /v1/runs", RunHandlers.begin, people("start runs"), BEGUN, RUN_FORM),
        Endpoint(
            "GET /v1/runs",
            RunHandlers.list,
            AGENTS,
            OK("RunList"),
            parameters=(query("state", RUN_STATE), *PAGING),
        ),
        Endpoint(f"GET {RUN}", RunHandlers.get, AGENTS, OK("Run")),
        Endpoint(
            f"GET {RUN}/log", RunHandlers.log, people("read the logs of runs"), OK("RunLog"), parameters=LINES
        ),
        Endpoint(f"POST {RUN}/cancel", RunHandlers.cancel, people("cancel runs"), OK("Run")),
        Endpoint(f"POST {RUN}/retry", RunHandlers.retry, people("retry runs"), OK("Run")),
        Endpoint(
            f"POST {RUN}/say",
            RunHandlers.say,
            people("steer runs"),
            OK("Said"),
            takes("SayForm", {"text": "use the new API"}),
        ),
        Endpoint(f"POST {RUN}/attach", RunHandlers.attach, people("attach to runs"), OK("Command")),
    ),
    "threads": (
        Endpoint("POST /v1/threads", ThreadHandlers.begin, AGENTS, THREAD_BEGUN, NEW_THREAD),
        Endpoint("GET /v1/threads", ThreadHandlers.list, AGENTS, OK("ThreadList"), parameters=PAGING),
        Endpoint(f"GET {THREAD}", ThreadHandlers.get, AGENTS, OK("Thread")),
        Endpoint(
            f"PATCH {THREAD}",
            ThreadHandlers.choose,
            people("choose permissions"),
            OK("Thread"),
            takes("PermissionsForm", {"permissions": "autonomous"}),
        ),
        Endpoint(f"GET {THREAD}/items", ThreadHandlers.items, AGENTS, OK("ThreadItems"), parameters=ITEMS),
        Endpoint(f"POST {THREAD}/items", ThreadHandlers.post, AGENTS, POSTED, POST),
        Endpoint(f"POST {THREAD}/turn", ThreadHandlers.turn, AGENTS, LEFT, parameters=TURN),
        Endpoint(
            f"POST {THREAD}/resolve", ThreadHandlers.resolve, people("answer"), OK("PromptSettled"), RESOLVE
        ),
        Endpoint(
            f"POST {THREAD}/reject",
            ThreadHandlers.reject,
            people("reject"),
            OK("PromptSettled"),
            takes("RejectForm", {"prompt_id": "prm_01J"}),
        ),
    ),
    "channels": (
        Endpoint("GET /v1/people", PeopleHandlers.list, admins("list people"), OK("PersonList")),
        Endpoint(
            "POST /v1/people",
            PeopleHandlers.add,
            admins("add people"),
            CREATED("Enrolment"),
            takes("PersonForm", {"name": "ana"}),
        ),
        Endpoint("DELETE /v1/people/{name}", PeopleHandlers.remove, admins("remove people"), OK("Removed")),
        Endpoint("GET /v1/channels", ChannelHandlers.list, people("list channels"), OK("ChannelList")),
        Endpoint(
            "POST /v1/channels/{name}/test",
            ChannelHandlers.test,
            admins("test channels"),
            OK("ChannelTest"),
            takes("ChannelTestForm", {"place": "C0123456789"}),
        ),
    ),
    "rules": (
        Endpoint("GET /v1/rules", RuleHandlers.list, people("list rules"), OK("RuleList"), parameters=PAGING),
        Endpoint("POST /v1/rules", RuleHandlers.add, people("make rules"), CREATED("Rule"), RULE),
        Endpoint("GET /v1/rules/{name}", RuleHandlers.get, people("see rules"), OK("Rule")),
        Endpoint("DELETE /v1/rules/{name}", RuleHandlers.revoke, people("revoke rules"), OK("RevokedRule")),
    ),
    "tokens": (
        Endpoint("GET /v1/me", TokenHandlers.me, ALL, OK("Me")),
        Endpoint(
            "POST /v1/sign-in-links", SignInLinkHandlers.create, people("sign in"), CREATED("SignInLink")
        ),
        Endpoint("GET /v1/tokens", TokenHandlers.list, admins("list tokens"), OK("TokenList")),
        Endpoint(
            "POST /v1/tokens",
            TokenHandlers.create,
            admins("make tokens"),
            CREATED("NewToken"),
            takes("TokenForm", {"name": "laptop", "role": "agent"}),
        ),
        Endpoint("DELETE /v1/tokens/{name}", TokenHandlers.revoke, admins("revoke tokens"), OK("Revoked")),
    ),
    "service": (
        Endpoint("GET /v1/away", AwayHandlers.get, people("see whether they are away"), OK("Away")),
        Endpoint("PUT /v1/away", AwayHandlers.set, people("say that they are away"), OK("Away"), AWAY),
        Endpoint(
            "POST /v1/config/reload", SettingsHandlers.reload, admins("reload settings"), OK("Reloaded")
        ),
        Endpoint(
            "POST /v1/backup",
            DaemonHandlers.backup,
            admins("make backups"),
            CREATED("Backup"),
            takes("BackupForm", {"path": "/backups/upcall.db"}),
        ),
        Endpoint("GET /metrics", MetricsHandlers.metrics, WATCHERS, METRICS),
        Endpoint("GET /healthz", DaemonHandlers.health, PUBLIC, OK("Health") | ILL),
        Endpoint("HEAD /healthz", DaemonHandlers.health, PUBLIC, BARE),
        Endpoint("GET /livez", DaemonHandlers.alive, PUBLIC, OK("Health")),
        Endpoint("HEAD /livez", DaemonHandlers.alive, PUBLIC, BARE),
        Endpoint("GET /v1/openapi.json", DaemonHandlers.openapi, PUBLIC, OK(OBJECT)),
    ),
}
"""Every endpoint of the API, by its tag in the document."""
