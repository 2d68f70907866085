"""The oracle: compares what really happened in a world with what its store says, promise by promise."""

from tests.simulation.facts import Broken
from tests.simulation.world import World
from upcall.domain.answer.outcome import outcome
from upcall.domain.inquiry.inquiry import Answered, Inquiry
from upcall.domain.run.resume import RESUME

LOST = "no answer is lost"
CONSENT = "silence is never consent"
FIRST = "the first answer wins"
TRUTH = "nothing is called delivered before it is"
REST = "everything comes to rest by itself"
ONCE = "no answer is told twice"
SHOWN = "nothing is shown twice"
ORDER = "every state is reachable"


def check(world: World, *, rested: bool) -> None:
    """Raise what is broken.

    Raises:
        Broken: with the promise and what was seen.
    """
    problems = [context for context in world.loop.problems if "exception" in context]
    if problems:
        raise Broken("no callback fails", str(problems[0]))
    if not rested:
        raise Broken(REST, left(world))
    for kept in list(world.database.inquiries.values()):
        _check_answer(world, kept.inquiry)
        _check_shown(world, kept.inquiry)
    _check_order(world)
    _check_once(world)


def _check_answer(world: World, inquiry: Inquiry) -> None:
    facts, name = world.facts, inquiry.id
    stands = inquiry.state.answer.values if isinstance(inquiry.state, Answered) else None
    if stands is not None and stands not in facts.given[name]:
        raise Broken(CONSENT, f"{name} was answered {stands}, and no person gave that")
    for told in facts.acknowledged[name]:
        if told.values != stands:
            raise Broken(FIRST, f"{told.by} was told {told.values} of {name}, and {stands} stands")
    accepted = [told.by for told in facts.acknowledged[name] if told.accepted]
    if len(accepted) > 1:
        raise Broken(FIRST, f"{accepted} were each told that theirs is the answer to {name}")
    if accepted and stands is None:
        raise Broken(LOST, f"the answer of {accepted} to {name} is not in the store")
    if stands is None:
        return
    words = outcome(inquiry).text
    wrong = [said for process, said in facts.told[name] if stands[0][0] not in said]
    if wrong:
        raise Broken(LOST, f"an agent was told {wrong[0]!r} instead of {words!r}")
    collected = isinstance(inquiry.state, Answered) and inquiry.state.collected_at is not None
    if collected and not facts.told[name]:
        raise Broken(TRUTH, f"{name} is collected, and no agent has it")
    if not facts.told[name] and not _is_given_up(world, inquiry):
        raise Broken(LOST, f"{name} was answered, and its agent never had it")


def _is_given_up(world: World, inquiry: Inquiry) -> bool:
    """Whether the store says, for people to see, that it was tried often enough."""
    record = world.database.records.get((RESUME, inquiry.id))
    return record is not None and record.state == "failed"


def _check_shown(world: World, inquiry: Inquiry) -> None:
    posted = world.facts.posted[inquiry.id]
    if len(posted) > 1 and not world.disturbed:
        raise Broken(SHOWN, f"{inquiry.id} is shown in {posted}")
    stale = [name for name in posted if world.vendor.messages[name].view.outcome is None]
    if stale and not inquiry.is_open:
        raise Broken(FIRST, f"{stale} still ask {inquiry.id}, which is {inquiry.state_name}")


def _check_order(world: World) -> None:
    seen: dict[str, list[str]] = {}
    for entry in world.database.log:
        if entry.event.inquiry is not None:
            seen.setdefault(entry.event.inquiry, []).append(entry.event.type)
    for name, events in seen.items():
        if events[0] != "asked" or events.count("asked") > 1:
            raise Broken(ORDER, f"{name} went through {events}")
        if events.count("answered") + events.count("rejected") > 1 or events.count("collected") > 1:
            raise Broken(ORDER, f"{name} went through {events}")
        if "collected" in events and "answered" not in events[: events.index("collected")]:
            raise Broken(ORDER, f"{name} went through {events}")
        if "shown" in events and not world.facts.posted[name]:
            raise Broken(TRUTH, f"{name} is said to be shown, and no message is there")


def _check_once(world: World) -> None:
    asked = [kept.inquiry.questions[0].text for kept in world.database.inquiries.values()]
    twice = {text for text in asked if asked.count(text) > 1}
    if twice:
        raise Broken("nothing is asked twice", str(sorted(twice)))
    for name, told in world.facts.told.items():
        supervised = [process for process, _ in told if process.startswith("run ")]
        if len(supervised) > 1 and world.database.inquiries[name].inquiry.origin.run is not None:
            raise Broken(ONCE, f"{name} was told to {supervised}")


def left(world: World) -> str:
    """What is still to be done in a world."""
    database = world.database
    waiting = [kept.inquiry.id for kept in database.inquiries.values() if kept.closed_at is None]
    jobs = [
        f"{job.id} (attempt {job.attempts}, due in {job.due - world.now():.0f} s)"
        for job in database.jobs.values()
    ]
    live = [keeper.process.name for machine in world.machines for keeper in machine.live()]
    runs = [
        (r.key, r.state, r.body.get("alive")) for (kind, _), r in database.records.items() if kind == "run"
    ]
    return f"open {waiting}, jobs {jobs}, processes {live}, runs {runs}"
