"""An inquiry ends once, for a reason, and never by silence taken for a yes."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from upcall.domain.errors import KeyConflict
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import (
    APPROVE,
    DENY,
    STATE_NAMES,
    Answer,
    Answered,
    Cancelled,
    Change,
    Closing,
    Expired,
    Failed,
    Inquiry,
    Kind,
    OnExpiry,
    Open,
    Option,
    Origin,
    Question,
    Rejected,
)
from upcall.domain.records import Happening

YES = Answer(values=((APPROVE,),), text="yes")
CLOSINGS = set(STATE_NAMES.values()) - {"open"}


def an_inquiry(
    *, kind: Kind = Kind.CHOICE, on_expiry: OnExpiry = OnExpiry.EXPIRE, default: str | None = None
) -> Inquiry:
    return Inquiry(
        id="01",
        ref="a7",
        kind=kind,
        questions=(Question(text="Go on?", options=(Option(label=APPROVE), Option(label=DENY))),),
        origin=Origin(agent="bot", session="s", door="http", request_key="k"),
        asked_at=0.0,
        expires_at=100.0,
        on_expiry=on_expiry,
        default=default,
        digest="d",
    )


def a_closing(at: float, *, by: str = "ana", reason: str | None = None) -> Closing:
    return Closing(by=by, via="web", at=at, reason=reason)


def applied(change: Change | None) -> Inquiry:
    assert change is not None
    return change.inquiry


def an_expired_inquiry() -> Inquiry:
    return applied(lifecycle.expire(an_inquiry(), 100.0))


@pytest.mark.promise("spec/29")
def test_asking_is_the_first_event() -> None:
    change = lifecycle.asked(an_inquiry())
    assert change.inquiry.is_open
    assert change.happening == Happening(
        type="asked",
        at=0.0,
        data={"ref": "a7", "kind": "ask_user_question", "agent": "bot", "session": "s"},
    )


def test_an_answer_settles_the_inquiry_and_says_who_gave_it() -> None:
    change = lifecycle.answer(an_inquiry(), YES, a_closing(5.0))
    assert applied(change).state == Answered(closing=a_closing(5.0), answer=YES)
    assert change is not None
    assert change.happening == Happening(
        type="answered", at=5.0, data={"answers": [[APPROVE]], "ref": "a7", "by": "ana", "via": "web"}
    )


@pytest.mark.promise("spec/139")
def test_a_secret_answer_stays_out_of_the_log() -> None:
    change = lifecycle.answer(replace(an_inquiry(), secret=True), YES, a_closing(5.0))
    assert change is not None
    assert change.happening.data == {"secret": True, "ref": "a7", "by": "ana", "via": "web"}


@pytest.mark.promise("spec/25")
@pytest.mark.parametrize("force", (False, True))
def test_the_second_to_answer_changes_nothing(*, force: bool) -> None:
    first = applied(lifecycle.answer(an_inquiry(), YES, a_closing(5.0)))
    assert lifecycle.answer(first, YES, a_closing(6.0), force=force) is None
    assert lifecycle.reject(first, a_closing(6.0)) is None


def test_an_answer_after_the_time_finds_the_inquiry_expired() -> None:
    assert isinstance(applied(lifecycle.answer(an_inquiry(), YES, a_closing(100.0))).state, Expired)
    assert lifecycle.answer(an_expired_inquiry(), YES, a_closing(101.0)) is None


@pytest.mark.promise("spec/26")
@pytest.mark.parametrize("inquiry", (an_inquiry(), an_expired_inquiry()))
def test_by_force_a_late_answer_counts_and_is_marked_as_late(inquiry: Inquiry) -> None:
    change = lifecycle.answer(inquiry, YES, a_closing(101.0), force=True)
    assert isinstance(applied(change).state, Answered)
    assert change is not None
    assert change.happening.data["late"] is True


def test_by_force_what_has_failed_for_want_of_an_answer_is_answered_and_no_other_failure() -> None:
    failed = applied(lifecycle.expire(replace(an_inquiry(), on_expiry=OnExpiry.FAIL), 100.0))
    change = lifecycle.answer(failed, YES, a_closing(101.0), force=True)
    assert change is not None
    assert (change.inquiry.state_name, change.happening.data["late"]) == ("answered", True)
    assert lifecycle.answer(failed, YES, a_closing(101.0)) is None
    broken = applied(lifecycle.fail(an_inquiry(), a_closing(5.0)))
    assert lifecycle.answer(broken, YES, a_closing(6.0), force=True) is None


def test_force_in_time_is_an_ordinary_answer() -> None:
    change = lifecycle.answer(an_inquiry(), YES, a_closing(99.0), force=True)
    assert change is not None
    assert "late" not in change.happening.data


def test_force_does_not_overrule_what_was_to_happen_at_the_end_of_the_time() -> None:
    denied = an_inquiry(kind=Kind.APPROVAL, on_expiry=OnExpiry.DENY)
    state = applied(lifecycle.answer(denied, YES, a_closing(101.0), force=True)).state
    assert isinstance(state, Answered)
    assert state.closing.by == lifecycle.POLICY
    assert state.answer.values == ((DENY,),)


def test_a_refusal_after_the_time_finds_the_inquiry_expired() -> None:
    assert isinstance(applied(lifecycle.reject(an_inquiry(), a_closing(100.0))).state, Expired)
    assert isinstance(applied(lifecycle.reject(an_inquiry(), a_closing(99.0))).state, Rejected)


@pytest.mark.promise("spec/25")
def test_cancelling_and_failing_keep_their_reason() -> None:
    closing = a_closing(5.0, by="bot", reason="worker_restart")
    for end, state in ((lifecycle.cancel, Cancelled), (lifecycle.fail, Failed)):
        change = end(an_inquiry(), closing)
        assert applied(change).state == state(closing=closing)
        assert change is not None
        assert change.happening.data["reason"] == "worker_restart"


@pytest.mark.promise("spec/4", "spec/35")
@pytest.mark.parametrize(
    ("kind", "on_expiry", "default", "outcome", "value"),
    (
        (Kind.CHOICE, OnExpiry.EXPIRE, None, "expired", None),
        (Kind.APPROVAL, OnExpiry.EXPIRE, None, "expired", None),
        (Kind.CHOICE, OnExpiry.FAIL, None, "failed", None),
        (Kind.CHOICE, OnExpiry.DENY, None, "expired", None),
        (Kind.APPROVAL, OnExpiry.DENY, None, "answered", DENY),
        (Kind.CHOICE, OnExpiry.DEFAULT, "Redis", "answered", "Redis"),
        (Kind.CHOICE, OnExpiry.DEFAULT, None, "expired", None),
        (Kind.CHOICE, OnExpiry.EXPIRE, "Redis", "expired", None),
        (Kind.APPROVAL, OnExpiry.DEFAULT, DENY, "answered", DENY),
        (Kind.APPROVAL, OnExpiry.DEFAULT, APPROVE, "answered", DENY),
    ),
)
def test_the_end_of_the_time_is_what_the_asker_or_a_policy_chose(
    kind: Kind, on_expiry: OnExpiry, default: str | None, outcome: str, value: str | None
) -> None:
    inquiry = an_inquiry(kind=kind, on_expiry=on_expiry, default=default)
    assert lifecycle.expire(inquiry, 99.9) is None
    ended = applied(lifecycle.expire(inquiry, 100.0))
    assert ended.state_name == outcome
    assert not isinstance(ended.state, Open)
    assert ended.state.closing.by == lifecycle.POLICY
    assert (ended.state.answer.values if isinstance(ended.state, Answered) else None) == (
        ((value,),) if value else None
    )


@pytest.mark.promise("spec/35")
def test_a_failure_by_time_has_the_reason_of_the_seed() -> None:
    change = lifecycle.expire(an_inquiry(on_expiry=OnExpiry.FAIL), 100.0)
    assert change is not None
    assert change.happening.data["reason"] == "input_timeout"


def test_a_default_answers_each_of_several_questions_in_the_log_too() -> None:
    inquiry = an_inquiry(on_expiry=OnExpiry.DEFAULT, default="Redis")
    change = lifecycle.expire(replace(inquiry, questions=inquiry.questions * 2), 100.0)
    assert change is not None
    assert change.happening.data["answers"] == [["Redis"], ["Redis"]]


@pytest.mark.promise("spec/93")
def test_a_snoozed_inquiry_is_quiet_and_can_be_answered() -> None:
    snoozed = applied(lifecycle.snooze(an_inquiry(), 50.0, by="ana", now=5.0))
    assert snoozed.state == Open(snoozed_until=50.0)
    assert isinstance(applied(lifecycle.answer(snoozed, YES, a_closing(6.0))).state, Answered)


def test_more_time_is_counted_from_now_and_never_less_than_before() -> None:
    assert applied(lifecycle.extend(an_inquiry(), 60.0, by="ana", now=90.0)).expires_at == 150.0
    assert applied(lifecycle.extend(an_inquiry(), 60.0, by="ana", now=10.0)).expires_at == 100.0


def test_more_time_comes_too_late_for_an_expired_inquiry() -> None:
    assert isinstance(applied(lifecycle.extend(an_inquiry(), 60.0, by="ana", now=100.0)).state, Expired)


def test_only_the_first_evidence_of_collection_counts() -> None:
    answered = applied(lifecycle.answer(an_inquiry(), YES, a_closing(5.0)))
    collected = applied(lifecycle.collect(answered, "acknowledged", 6.0))
    assert isinstance(collected.state, Answered)
    assert collected.state.collected_at == 6.0
    assert lifecycle.collect(collected, "stream", 7.0) is None
    assert lifecycle.collect(an_inquiry(), "stream", 7.0) is None


def test_the_same_request_rejoins_and_another_one_conflicts() -> None:
    earlier = an_inquiry()
    assert lifecycle.rejoins(earlier, an_inquiry(), now=500.0)
    with pytest.raises(KeyConflict):
        lifecycle.rejoins(earlier, replace(earlier, digest="other"), now=5.0)


def test_an_approval_is_not_handed_out_again_after_its_time() -> None:
    earlier = an_inquiry(kind=Kind.APPROVAL)
    assert lifecycle.rejoins(earlier, earlier, now=99.0)
    assert not lifecycle.rejoins(earlier, earlier, now=100.0)
    assert not lifecycle.rejoins(earlier, replace(earlier, digest="other"), now=100.0)


inquiries = st.builds(
    lambda kind, on_expiry, default, secret: replace(
        an_inquiry(kind=kind, on_expiry=on_expiry, default=default), secret=secret
    ),
    st.sampled_from(Kind),
    st.sampled_from(OnExpiry),
    st.sampled_from([None, APPROVE, DENY, "Redis"]),
    st.booleans(),
)


class Life(RuleBasedStateMachine):
    """Everything that can happen to one inquiry after the other, in any order, under a clock that also goes backwards."""

    @initialize(inquiry=inquiries)
    def ask(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        self.now = 0.0
        self.log = [lifecycle.asked(self.inquiry).happening]
        self.person_said: set[str] = set()
        self.collections = 0

    @precondition(lambda self: not self.inquiry.is_open)
    @rule(inquiry=inquiries)
    def the_next_one_is_asked(self, inquiry: Inquiry) -> None:
        self.ask(inquiry)

    @rule(seconds=st.sampled_from([-60, -1, 1, 40, 60, 99, 100, 150]) | st.floats(-80, 160))
    def the_clock_moves(self, seconds: float) -> None:
        self.now += seconds

    @rule(value=st.sampled_from([APPROVE, DENY, "Redis"]), force=st.booleans())
    def a_person_answers(self, value: str, *, force: bool) -> None:
        given = Answer(values=((value,),), text=value)
        before, over = self.inquiry, self.now >= self.inquiry.expires_at
        self.apply(lifecycle.answer(before, given, a_closing(self.now), force=force))
        state = self.inquiry.state
        if state != before.state and isinstance(state, Answered) and state.closing.by == "ana":
            self.person_said.add(value)
            assert force or not over
        if before.is_open and not over:
            assert isinstance(state, Answered)
            assert state.answer == given

    @rule(end=st.sampled_from([lifecycle.reject, lifecycle.cancel, lifecycle.fail]))
    def it_is_declined_cancelled_or_failed(self, end: Callable[[Inquiry, Closing], Change | None]) -> None:
        self.apply(end(self.inquiry, a_closing(self.now, reason="because")))

    @rule()
    def the_expiry_task_runs(self) -> None:
        self.apply(lifecycle.expire(self.inquiry, self.now))
        assert not self.inquiry.is_open or self.now < self.inquiry.expires_at

    @rule(seconds=st.floats(1, 200))
    def a_person_snoozes(self, seconds: float) -> None:
        was_open, deadline = self.inquiry.is_open, self.inquiry.expires_at
        self.apply(lifecycle.snooze(self.inquiry, self.now + seconds, by="ana", now=self.now))
        assert self.inquiry.is_open == was_open
        assert self.inquiry.expires_at == deadline

    @rule(seconds=st.floats(1, 200))
    def a_person_gives_more_time(self, seconds: float) -> None:
        before = self.inquiry
        self.apply(lifecycle.extend(before, seconds, by="ana", now=self.now))
        if self.now < before.expires_at:
            assert self.inquiry.is_open == before.is_open
            assert self.inquiry.expires_at >= before.expires_at
        else:
            assert self.inquiry.expires_at == before.expires_at

    @rule()
    def the_agent_collects(self) -> None:
        before = self.inquiry
        self.apply(lifecycle.collect(before, "acknowledged", self.now))
        if self.inquiry is not before:
            self.collections += 1
            assert isinstance(before.state, Answered)
            assert isinstance(self.inquiry.state, Answered)
            assert self.inquiry.state.answer == before.state.answer

    @precondition(lambda self: not (self.inquiry.is_open or lifecycle.takes_force(self.inquiry)))
    @rule(value=st.sampled_from([APPROVE, DENY]))
    def what_is_final_cannot_be_undone(self, value: str) -> None:
        given, closing = Answer(values=((value,),), text=value), a_closing(self.now)
        for change in (
            lifecycle.answer(self.inquiry, given, closing, force=True),
            lifecycle.reject(self.inquiry, closing),
            lifecycle.cancel(self.inquiry, closing),
            lifecycle.fail(self.inquiry, closing),
            lifecycle.expire(self.inquiry, self.now),
            lifecycle.snooze(self.inquiry, self.now, by="ana", now=self.now),
            lifecycle.extend(self.inquiry, 1.0, by="ana", now=self.now),
        ):
            assert change is None

    def apply(self, change: Change | None) -> None:
        if change is None:
            return
        before, after = self.inquiry, change.inquiry
        self.check_step(before, after, change.happening)
        self.inquiry = after
        self.log.append(change.happening)

    def check_step(self, before: Inquiry, after: Inquiry, happening: Happening) -> None:
        unchanged = replace(after, state=before.state, expires_at=before.expires_at)
        assert unchanged == before, "what was asked never changes"
        match before.state:
            case Open():
                assert happening.type in CLOSINGS | {"snoozed", "extended"}
            case Expired() | Failed() if lifecycle.takes_force(before):
                assert happening.type == "answered"
                assert happening.data["late"] is True
            case Answered(collected_at=None):
                assert happening.type == "collected"
            case _:
                pytest.fail(f"{before.state_name} is final, and yet {happening.type}")
        assert (happening.type in CLOSINGS) == (type(before.state) is not type(after.state))
        if happening.type in CLOSINGS:
            assert happening.type == after.state_name
            assert not isinstance(after.state, Open)
            assert happening.at == after.state.closing.at

    @invariant()
    def each_ending_is_in_the_log_once(self) -> None:
        endings = [happening.type for happening in self.log if happening.type in CLOSINGS]
        by_time = "failed" if self.inquiry.on_expiry is OnExpiry.FAIL else "expired"
        assert endings in ([], [self.inquiry.state_name], [by_time, "answered"])
        assert bool(endings) != self.inquiry.is_open

    @invariant()
    def silence_is_never_consent(self) -> None:
        if not isinstance(self.inquiry.state, Answered):
            return
        closing, values = self.inquiry.state.closing, self.inquiry.state.answer.values
        if closing.by == "ana":
            assert values == tuple((value,) for value in self.person_said)
            return
        assert (closing.by, closing.via) == (lifecycle.POLICY, "default")
        if self.inquiry.kind is Kind.APPROVAL:
            assert values == ((DENY,),)
            assert self.inquiry.on_expiry is OnExpiry.DENY or self.inquiry.default is not None
        else:
            assert self.inquiry.on_expiry is OnExpiry.DEFAULT
            assert values == ((self.inquiry.default,),)

    @invariant()
    def nothing_ends_by_itself_before_its_time(self) -> None:
        state = self.inquiry.state
        if not isinstance(state, Open) and state.closing.by == lifecycle.POLICY:
            assert state.closing.at >= self.inquiry.expires_at

    @invariant()
    def an_answer_is_collected_once_and_only_after_it_was_given(self) -> None:
        assert self.collections == sum(happening.type == "collected" for happening in self.log)
        assert self.collections <= 1
        if self.collections:
            assert isinstance(self.inquiry.state, Answered)

    @invariant()
    def a_secret_answer_is_not_logged(self) -> None:
        if self.inquiry.secret and self.person_said:
            assert all("answers" not in happening.data for happening in self.log)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=200, stateful_step_count=60)


@pytest.mark.promise("spec/27")
def test_an_answer_on_its_way_says_so_until_the_agent_has_it() -> None:
    """Every attempt is in the log; the first is when it was forwarded."""
    assert lifecycle.forward(an_inquiry(), 42, 1.0) is None
    answered = applied(lifecycle.answer(an_inquiry(), YES, a_closing(5.0)))
    first = applied(lifecycle.forward(answered, 42, 6.0))
    again = lifecycle.forward(first, 42, 9.0)
    assert again is not None
    assert isinstance(again.inquiry.state, Answered)
    assert (again.inquiry.state.forwarded_at, again.happening.data["run"]) == (6.0, 42)
    collected = applied(lifecycle.collect(again.inquiry, "resumed", 10.0))
    assert lifecycle.forward(collected, 42, 11.0) is None
