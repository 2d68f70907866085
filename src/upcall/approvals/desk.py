"""The desk of one asker: its program's own questions become inquiries, and its actions are decided here.

An action is allowed by the run's mode, by a remembered rule, or by a person who saw it whole. Everything else is a no:
silence, a withdrawn question, an action that changed after it was shown, and an installation without people.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from upcall.approvals import plans
from upcall.approvals.remarks import Remarks
from upcall.approvals.standing import allowance
from upcall.broker.broker import Broker
from upcall.broker.edited_actions import standing_denial
from upcall.broker.repeats import Scope
from upcall.domain.answer.outcome import Outcome, outcome, remark
from upcall.domain.approval import actions, denials
from upcall.domain.errors import InvalidInquiry, RateLimited, StorageError, UpcallError
from upcall.domain.inquiry.asking import Draft, draft
from upcall.domain.inquiry.inquiry import APPROVE, Answered, Inquiry, Origin
from upcall.domain.inquiry.limits import MOST_NATIVE, NATIVE, weight
from upcall.domain.records import Effects, Record
from upcall.domain.roles import Caller
from upcall.domain.run.program import Action, Verdict
from upcall.ports.store import Ledger
from upcall.ports.unhurried import LIGHT, unhurried

PAGE = 200
NO_PEOPLE = "No person can approve this, so it is denied. Do not perform the action."
NO_READER = "No person can approve a plan here. Do not carry it out; report it, and stop."
NOT_THIS = "What was approved is not this action. Do not perform it."
USED = "This was approved once, and that was used by another call. Do not perform the action; ask again."


class ApprovalDesk:
    """The desk for one session of one caller. Those that share broker and session share everything else too."""

    def __init__(
        self,
        broker: Broker,
        *,
        caller: Caller,
        session: str,
        door: str,
        workspace: str | None = None,
        thread: str | None = None,
        client: str = "",
        program: str = "",
        runner: str = "",
        has_people: Callable[[], bool] = lambda: True,
    ) -> None:
        self._broker = broker
        self._caller = caller
        self._session = session
        self._door = door
        self._workspace = workspace
        self._thread = thread
        self._client = client
        self._program = program
        self._runner = runner
        self._has_people = has_people
        self._remarks = Remarks(broker.store, caller.name, session, broker.now)

    async def ask(self, fields: Mapping[str, object], key: str, *, wait: float | None = None) -> Outcome:
        """Put questions as the program's own tool has them; after `wait` seconds without an answer, it is parked.

        Up to a length that a person can read, they are shown whole. What cannot be asked at all is `failed`, with the
        reason.
        """
        try:
            drafted = await unhurried(weight(fields, LIGHT), lambda: _drafted(fields))
            asked = await self._broker.ask(
                drafted,
                self._origin("question", key),
                named_session=True,
                scope=Scope(name=self._session),
            )
            settled = await self._broker.wait(asked.inquiry, self._patience(wait))
            if isinstance(settled.state, Answered):
                # Once it has been told, the same words are another question.
                await self._broker.repeats.use(settled, key)
            return outcome(settled)
        except UpcallError as error:
            hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
            return Outcome(
                status="failed",
                id="",
                ref="",
                text=f"This could not be asked: {error.message}.{hint}",
                again=isinstance(error, StorageError | RateLimited),
            )

    async def approve(self, action: Action, key: str, *, wait: float | None = None) -> Verdict:
        """Decide an action. An error on the way denies it."""
        try:
            return await self._decided(action, key, self._patience(wait))
        except UpcallError as error:
            return _no(f"This could not be approved: {error.message}. Do not perform the action.")

    async def put_plan(
        self, plan: str, key: str, *, edits: bool = True, wait: float | None = None
    ) -> Verdict:
        """Have a person decide a plan. An error on the way sends it back."""
        try:
            if not self._has_people():
                return _no(NO_READER)
            return await plans.decided(
                self._broker, plan, self._origin(plans.PURPOSE, key), self._patience(wait), edits=edits
            )
        except UpcallError as error:
            return _no(f"The plan could not be put to a person: {error.message}. Do not carry it out.")

    async def begin_turn(self) -> None:
        """Forget the session's denials: a person has spoken to it since."""
        await _forget_denials(self._broker.store, self._caller.name, self._session)

    async def _decided(self, action: Action, key: str, wait: float) -> Verdict:
        origin = self._origin("permission", key)
        allowed = await allowance(self._broker, action, origin, autonomous=self._caller.autonomous)
        if allowed is not None:
            return Verdict(allowed=True, reason=allowed.reason)
        asked = await unhurried(actions.size(action, LIGHT), lambda: actions.approval(action))
        earlier = await self._earlier_denial(asked.digest)
        if earlier is not None:
            return _no(earlier.reason, earlier.inquiry)
        if not self._has_people():
            return _no(NO_PEOPLE)
        added = await self._broker.ask(asked, origin, named_session=True, scope=Scope(name=self._session))
        settled = await self._broker.wait(added.inquiry, wait)
        if settled.is_approved and not await self._broker.repeats.use(settled, key):
            return _no(USED, settled.id)
        verdict = _verdict(settled, asked.digest)
        return await self._checked(verdict, action, settled) if verdict.allowed else verdict

    async def _checked(self, verdict: Verdict, action: Action, inquiry: Inquiry) -> Verdict:
        """A yes of a person. An action that they edited passes again what the one before it has passed."""
        edit = inquiry.edit
        if edit is not None:
            changed = replace(action, input=edit.input)
            digest = await unhurried(actions.size(changed, LIGHT), lambda: actions.digest(changed))
            if not action.editable or digest != edit.digest:
                return _no(NOT_THIS, inquiry.id)
            if earlier := await self._earlier_denial(edit.digest):
                return _no(earlier.reason, inquiry.id)
            action = changed
        if action.hears == "after" and verdict.remark:
            await self._remarks.keep(action, verdict.remark)
        return verdict

    async def remark(self, tool: str, given: Mapping[str, object]) -> str:
        """What the model is to be told now that a tool has run: what a person changed, and their note. Told once."""
        return await self._remarks.take(tool, given)

    async def _earlier_denial(self, digest: str) -> denials.Denial | None:
        """The denial of the same action that still stands."""
        return await standing_denial(
            self._broker.store, self._caller.name, self._session, digest, self._broker.now()
        )

    def _origin(self, purpose: str, key: str) -> Origin:
        return Origin(
            agent=self._caller.name,
            session=self._session,
            door=self._door,
            workspace=self._workspace,
            thread=self._thread,
            run=self._caller.run,
            program=self._program,
            runner=self._caller.runner or self._runner,
            client=self._client,
            purpose=purpose,
            request_key=key,
        )

    def _patience(self, wait: float | None) -> float:
        return self._broker.policy.block_timeout if wait is None else wait


def _drafted(fields: Mapping[str, object]) -> Draft:
    if weight(fields, MOST_NATIVE) > MOST_NATIVE:
        raise InvalidInquiry("questions", f"at most {MOST_NATIVE} characters in all", hint="ask less at once")
    return draft(fields, NATIVE)


def _verdict(inquiry: Inquiry, digest: str) -> Verdict:
    match inquiry.state:
        case Answered(answer=answer) if answer.values == ((APPROVE,),):
            if inquiry.digest != digest:
                return _no(NOT_THIS, inquiry.id)
            return Verdict(
                allowed=True,
                reason="The user approved this.",
                inquiry=inquiry.id,
                input=None if answer.edit is None else answer.edit.input,
                remark=remark(inquiry),
            )
        case _:
            return Verdict(
                allowed=False, reason=outcome(inquiry).text, open=inquiry.is_open, inquiry=inquiry.id
            )


async def _forget_denials(ledger: Ledger, agent: str, session: str) -> None:
    state = denials.session_key(agent, session)
    while page := (await ledger.records(denials.KIND, state=state, limit=PAGE)).items:
        gone = Effects(forgotten=tuple((denials.KIND, record.key) for record in page))

        def forgetting(_: Record | None, gone: Effects = gone) -> Effects:
            return gone

        await ledger.revise(denials.KIND, page[0].key, forgetting)


def _no(reason: str, inquiry: str = "") -> Verdict:
    return Verdict(allowed=False, reason=reason, inquiry=inquiry)
