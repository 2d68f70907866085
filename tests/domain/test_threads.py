"""In a thread there is one prompt at a time, in the order of asking, and nothing of the agent's between it and its end."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from upcall.domain.errors import PromptPending, QuestionNotAlone
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import (
    Answer,
    Answered,
    Change,
    Closing,
    Expired,
    Failed,
    Inquiry,
    Kind,
    Open,
    Option,
    Question,
)
from upcall.domain.records import Effects, Record
from upcall.domain.thread import prompts, thread
from upcall.domain.thread.thread import QUEUE, THREAD, Item, Thread, thread_in
from upcall.testing.examples import HOUR, NOW, a_closing, an_answer, an_inquiry

Metadata = Mapping[str, Any]
DEPLOY = Question(
    text="What's the deployment target?",
    options=(
        Option(label="staging", description="push to staging.example.com"),
        Option(label="production", description="push to www.example.com"),
    ),
)


def in_thread(**changes: Any) -> Inquiry:
    return an_inquiry(**{"thread": "t", "state": Open(queued=HOUR), "questions": (DEPLOY,), **changes})


class Conversation(RuleBasedStateMachine):
    """A thread as a store would keep it, and all who act in it, in any order."""

    @initialize()
    def begin(self) -> None:
        self.now = NOW
        self.records: dict[tuple[str, str], Record] = {}
        self.items: list[Mapping[str, Any]] = []
        self.asked: dict[str, Inquiry] = {}
        self.activated: list[str] = []
        given = Thread(id="t", agent="builder", created_at=NOW)
        effects = thread.begin(None, given)
        assert effects is not None
        self.write(effects)

    @property
    def active(self) -> Inquiry | None:
        name = thread_in(self.records[THREAD, "t"]).active
        inquiry = self.asked.get(name)
        return None if inquiry is None or prompts.is_resolved(inquiry) else inquiry

    @rule(kind=st.sampled_from(Kind))
    def ask(self, kind: Kind) -> None:
        inquiry = in_thread(kind=kind, asked_at=self.now)
        self.step(lifecycle.asked(inquiry))
        self.advance()

    @precondition(lambda self: self.active is not None)
    @rule(
        how=st.sampled_from(["answer", "reject", "cancel", "fail", "expire", "deny", "collect", "release"]),
        who=st.booleans(),
    )
    def decide(self, how: str, who: bool) -> None:  # noqa: FBT001 - drawn by the machine
        """A person acts on the active prompt, or on one that waits or is over."""
        names = list(self.asked) if who else [cast("Inquiry", self.active).id]
        for name in names[:1]:
            inquiry = self.asked[name]
            closing = a_closing(at=self.now)
            match how:
                case "answer" if not inquiry.is_queued:
                    change = lifecycle.answer(inquiry, an_answer("staging"), closing)
                case "reject":
                    change = lifecycle.reject(inquiry, closing)
                case "cancel":
                    change = lifecycle.cancel(inquiry, closing)
                case "fail":
                    change = lifecycle.fail(inquiry, closing)
                case "expire":
                    change = lifecycle.expire(inquiry, inquiry.expires_at)
                case "deny":
                    change = lifecycle.deny(inquiry, replace(closing, by="policy", via="worker_end"))
                case "collect":
                    change = lifecycle.collect(inquiry, "ack", self.now)
                case "release":
                    change = lifecycle.release(inquiry, self.now + 2)
                case _:
                    change = None
            if change is not None:
                self.step(change)
            self.advance()

    @rule()
    def agent_posts(self) -> None:
        last = self.asked.get(thread_in(self.records[THREAD, "t"]).active)
        resolved = last.id if last is not None and prompts.is_resolved(last) else ""
        item = Item(id=f"itm{len(self.items)}", type="text", role="agent", by="builder", text="at work")
        if self.active is not None:
            with pytest.raises(PromptPending):
                thread.post(self.records[THREAD, "t"], item, resolved, self.now)
        else:
            self.write(thread.post(self.records[THREAD, "t"], item, resolved, self.now))

    @rule(key=st.sampled_from(["", "a", "b"]))
    def person_leaves_a_message(self, key: str) -> None:
        item = Item(id=f"msg{len(self.items)}", type="text", role="user", by="ana", text="hello", key=key)
        known = key and key in dict(thread_in(self.records[THREAD, "t"]).keys)
        effects = thread.leave(self.records[THREAD, "t"], item, key, self.now)
        assert (effects is None) == bool(known)
        self.write(effects or Effects())

    def advance(self) -> None:
        """As `ThreadQueue` does it, with a halt after each of its steps."""
        record = self.records[THREAD, "t"]
        name = thread_in(record).active
        if self.active is not None:
            if self.active.is_queued:
                self.step(cast("Change", lifecycle.activate(self.active, self.now)))
            return
        waiting = sorted(key for kind, key in self.records if kind == QUEUE)
        if waiting:
            self.write(thread.call_up(record, waiting[0], name) or Effects())
            self.advance()

    def step(self, change: Change) -> None:
        self.now += 1
        self.asked[change.inquiry.id] = change.inquiry
        if change.happening.type == "activated":
            self.activated.append(change.inquiry.id)
        self.write(prompts.consequences(change))

    def write(self, effects: Effects) -> None:
        for name in effects.forgotten:
            self.records.pop(name, None)
        self.records |= {(record.kind, record.key): record for record in effects.records}
        self.items += [each.data for each in effects.happenings if each.type == thread.ITEM]

    @invariant()
    def at_most_one_is_active(self) -> None:
        unresolved = [
            one for one in self.asked.values() if not one.is_queued and not prompts.is_resolved(one)
        ]
        assert len(unresolved) <= 1

    @invariant()
    def no_prompt_waits_while_the_turn_is_free(self) -> None:
        assert self.active is not None or not any(one.is_queued for one in self.asked.values())

    @invariant()
    def turns_go_in_the_order_of_asking(self) -> None:
        assert self.activated == sorted(self.activated)

    @invariant()
    def nothing_of_the_agents_is_between_a_prompt_and_its_end(self) -> None:
        pending = ""
        for item in self.items:
            about = item["metadata"].get("prompt", {}).get("prompt_id", "")
            match item["metadata"]["type"]:
                case "pending_prompt":
                    assert not pending
                    pending = about
                case "pending_prompt_resolved":
                    assert about == pending
                    pending = ""
                case _:
                    assert item["role"] == "user" or not pending
        assert bool(pending) == (self.active is not None)


TestConversation = Conversation.TestCase
TestConversation.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


def test_a_prompt_is_posted_as_documented() -> None:
    item = prompts.pending(replace(in_thread(), state=Open()))
    assert item.text == (
        "❓ Provide input:\nWhat's the deployment target?\n  1. staging — push to staging.example.com\n"
        "  2. production — push to www.example.com\nReply with a number, the option text, or free text.\n"
    )


@pytest.mark.parametrize(
    ("step", "state", "reason"),
    [
        (partial(lifecycle.reject, closing=a_closing()), "cancelled", "rejected"),
        (partial(lifecycle.reject, closing=a_closing(reason="not now")), "cancelled", "rejected: not now"),
        (partial(lifecycle.cancel, closing=a_closing()), "cancelled", "agent_turn_cancelled"),
        (
            partial(lifecycle.cancel, closing=a_closing(reason="worker_restart")),
            "cancelled",
            "worker_restart",
        ),
        (partial(lifecycle.expire, now=NOW + 2 * HOUR), "cancelled", "expired"),
        (partial(lifecycle.fail, closing=a_closing(reason="no route")), "failed", "no route"),
        (partial(lifecycle.fail, closing=a_closing()), "failed", "internal_error"),
    ],
)
def test_every_end_is_one_of_three(step: Any, state: str, reason: str) -> None:
    ended = step(replace(in_thread(), state=Open()))
    (said,) = prompts.consequences(ended).happenings
    prompt = cast("Metadata", said.data["metadata"])["prompt"]
    assert (prompt["prompt_state"], prompt["reason"], prompt["answers"]) == (state, reason, [])


def test_an_inquiry_that_was_never_asked_leaves_no_item() -> None:
    withdrawn = lifecycle.cancel(in_thread(), a_closing())
    assert withdrawn is not None
    effects = prompts.consequences(withdrawn)
    assert not effects.happenings
    assert effects.forgotten == ((QUEUE, withdrawn.inquiry.id),)


def test_time_begins_when_the_turn_has_come() -> None:
    called = lifecycle.activate(in_thread(), NOW + 500)
    assert called is not None
    assert called.inquiry.expires_at == NOW + 500 + HOUR
    assert lifecycle.activate(called.inquiry, NOW + 600) is None


def test_a_secret_answer_is_in_no_item_and_in_no_block() -> None:
    answered = lifecycle.answer(
        replace(in_thread(), state=Open(), secret=True), an_answer("hunter2"), a_closing()
    )
    assert answered is not None
    collected = lifecycle.collect(answered.inquiry, "ack", NOW + 2)
    assert collected is not None
    told = [*prompts.consequences(answered).happenings, *prompts.consequences(collected).happenings]
    assert len(told) == 2
    assert "hunter2" not in repr(told) + repr(prompts.block(collected.inquiry))


def test_an_answer_by_force_comes_after_the_prompt_was_resolved() -> None:
    expired = lifecycle.expire(replace(in_thread(), state=Open()), NOW + HOUR)
    assert expired is not None
    assert isinstance(expired.inquiry.state, Expired)
    forced = lifecycle.answer(expired.inquiry, an_answer("staging"), a_closing(at=NOW + 2 * HOUR), force=True)
    assert forced is not None
    collected = lifecycle.collect(forced.inquiry, "ack", NOW + 2 * HOUR)
    assert collected is not None
    assert [
        cast("Metadata", each.data["metadata"])["type"] for each in prompts.consequences(forced).happenings
    ] == ["text"]
    assert not prompts.consequences(collected)
    assert prompts.is_resolved(forced.inquiry)


def test_an_approval_that_is_denied_because_its_asker_is_gone_is_resolved_at_once() -> None:
    asked = replace(in_thread(), kind=Kind.APPROVAL, state=Open())
    denied = lifecycle.deny(asked, Closing(by="policy", via="worker_end", at=NOW, reason="worker_ended"))
    assert denied is not None
    (item,) = prompts.consequences(denied).happenings
    assert cast("Metadata", item.data["metadata"])["prompt"]["answers"] == [
        {"question": DEPLOY.text, "answer": ["Deny"]}
    ]
    assert prompts.is_resolved(denied.inquiry)


def test_a_block_tells_whether_it_was_answered_and_by_what() -> None:
    asked = replace(in_thread(request_key="call_1"), state=Open())
    pending = prompts.block(asked)
    assert (pending["status"], pending["action_type"]) == ("pending", "question_request")
    assert pending["tool_call"] == {"id": "call_1", "name": "question"}
    answer = Answer(values=(("staging",),), text="1")
    replied = prompts.block(replace(asked, state=Answered(closing=a_closing(), answer=answer)))
    assert replied["status"] == "success"
    assert cast("Metadata", replied["extra"])["answerMessageId"] == f"msg_{asked.id}"
    failed = prompts.block(replace(asked, state=Failed(closing=a_closing())))
    assert (failed["status"], "answerMessageId" in cast("Metadata", failed["extra"])) == ("denied", False)


def test_a_question_is_alone_once_every_other_call_has_its_result() -> None:
    record = Thread(id="t", agent="builder", created_at=NOW).record

    def posted(record: Record, kind: str, call: str = "") -> Record:
        item = Item(id="i", type=kind, role="agent", by="builder", more={"tool_call_id": call})
        return next(iter(thread.post(record, item, "", NOW).records), record)

    record = posted(posted(record, "tool_call", "a"), "tool_call", "q")
    with pytest.raises(QuestionNotAlone):
        thread.check_alone(thread_in(record), "q")
    record = posted(record, "tool_result", "a")
    thread.check_alone(thread_in(record), "q")
    with pytest.raises(QuestionNotAlone):
        thread.check_alone(thread_in(record), "another")
    thread.check_alone(thread_in(posted(record, "turn_end")), "another")
