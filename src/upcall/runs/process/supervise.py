"""Starts the processes of runs, follows them, and settles each run when its process has ended.

A process is started only after the book says so, under a number that its keeper checks while it holds the run's lock:
so whatever crashes in between, no run ever has two processes.
"""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from upcall.access.connected import TakenAnswers
from upcall.access.tokens import Access
from upcall.domain.errors import UnknownRun, UpcallError
from upcall.domain.run.program import LastWords
from upcall.domain.run.run import Run, RunState
from upcall.ports.agent import Driver
from upcall.ports.background import Background
from upcall.runs import text_question
from upcall.runs.affairs import Affairs
from upcall.runs.book import Step
from upcall.runs.chores import Chores
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.following import Following
from upcall.runs.process.keeper import BUSY, CANNOT_START, STALE
from upcall.runs.process.keepers import Hello, KeeperServer, Keeping, Known
from upcall.runs.process.preparing import Premises
from upcall.runs.process.settling import Ending, settled
from upcall.runs.process.started import Told, told_for
from upcall.runs.process.watch import Watch

LOOK_EVERY = 2.0
"""Seconds between two looks at keepers that should be there. One that ends in the ordinary way says so itself."""

LOST = -9
"""How a process is taken to have ended of which nothing is left."""

BUSY_AGAIN = 2.0
"""Seconds after which a session that somebody has taken over is tried again."""

HIRE_AGAIN = (1.0, 5.0, 15.0)
"""Seconds before each further try to have a keeper, which may be missing while a new version is put in its place."""

log = logging.getLogger("upcall.runs")


class Supervisor:
    """One per daemon. `changed` hears of every run whose process has ended."""

    def __init__(
        self,
        premises: Premises,
        affairs: Affairs,
        access: Access,
        taken: TakenAnswers,
        changed: Callable[[Run], None],
    ) -> None:
        self._premises = premises
        self._book = affairs.book
        self._access = access
        self._deliveries = affairs.deliveries
        self._taken = taken
        self._clock = affairs.clock
        self._changed = changed
        self._keepers = KeeperServer(premises.home, self._greet, self._begin_to_follow)
        self._followed: dict[int, tuple[Following, Watch]] = {}
        self._following: dict[int, asyncio.Task[None]] = {}
        self._alive: set[int] = set()
        self._hiring: set[int] = set()
        self._new: set[tuple[int, int]] = set()
        self._chores = Chores()
        self._looking = Background("looking after keepers", self._look_after, log)
        self._going_down = False

    async def open(self) -> None:
        """Listen for keepers, and take up the runs that another daemon has left."""
        await self._keepers.start()
        for state in (RunState.RUNNING, RunState.WAITING):
            async for run in self._book.each(state.value):
                if run.runner == self._premises.runner and run.alive:
                    if await asyncio.to_thread(self._premises.loses_touch, run):
                        # It is about to be ended. An answer through its pipe would be told once more to the next
                        # process, and a refusal would be news to its model.
                        self._access.withhold(run.token)
                    else:
                        self._lend(run)
                    self._alive.add(run.number)
                    if not self._premises.folder(run.number).is_kept():
                        self._bury(run)
        self._looking.start()

    async def close(self, *, end: bool) -> None:
        """Let go of every process; with `end`, end them first."""
        self._going_down = end
        if end:
            for following, _ in self._followed.values():
                following.keeping.end()
            if self._following:
                await asyncio.wait(set(self._following.values()), timeout=2 * self._premises.kill_grace)
        await self._looking.close()
        await self._keepers.close()
        await self._chores.close()

    def live(self, run: Run) -> Run:
        """A run with what its process has done since it was last noted."""
        followed = self._followed.get(run.number)
        return run if followed is None else followed[1].onto(run)

    async def start(self, number: int, told: Told) -> bool:
        """Start a process for a run that has none; False if it has one by now, or is to end."""
        said: list[str] = []

        def decide(run: Run) -> Step | None:
            if run.alive or run.ending:
                return None
            # A deferred call is resumed without a word, and a task has words of its own: these are for the next turn.
            said[:] = () if told.message is None else run.messages
            going = replace(
                run,
                alive=True,
                starts=run.starts + 1,
                state=RunState.RUNNING,
                reason="",
                deferred="",
                exit_code=None,
                ended_at=None,
                started_at=run.started_at or self._clock(),
                words=LastWords(),
                messages=() if said else run.messages,
                saying=tuple(said),
            )
            return Step(run=going, event="run_resumed" if told.resumes else "run_started")

        # Nobody may take a process for lost that is only about to be started.
        self._hiring.add(number)
        begun = True
        try:
            run, taken = await self._book.change(number, decide)
            if taken:
                self._alive.add(number)
                begun = await self._hire(run, told.adding(said))
        finally:
            if begun:
                self._hiring.discard(number)
        if not begun:
            _ = self._chores.add(self._hire_again(run), f"start run {number} after all")
        return taken

    async def _hire(self, run: Run, told: Told) -> bool:
        """Prepare a process, and have a keeper start it; False if there was no keeper to be had."""
        try:
            await asyncio.to_thread(self._premises.prepare, run, told)
            if told.said:
                await self._premises.desks(run).begin_turn()
            self._lend(run)
            self._new.add((run.number, run.starts))
            return await self._try_to_hire(run)
        except (OSError, UpcallError) as problem:
            log.warning("run %s cannot be started: %s", run.number, problem)
            await self._never_began(run)
            return True

    async def _hire_again(self, run: Run) -> None:
        """Whoever waits for a start is not held up by one that may come about later, or not at all."""
        try:
            for pause in HIRE_AGAIN:
                await asyncio.sleep(pause)
                if await self._is_ending(run.number):
                    break
                if await self._try_to_hire(run):
                    return
            await self._never_began(run)
        finally:
            self._hiring.discard(run.number)

    async def _try_to_hire(self, run: Run) -> bool:
        home, folder = self._premises.home.path, self._premises.folder(run.number)
        try:
            code = await asyncio.to_thread(start_keeper, home, folder)
        except OSError as problem:
            log.warning("run %s: its keeper cannot be started: %s", run.number, problem)
            return False
        if code in (BUSY, STALE):
            self._bury(run)
        elif code != 0:
            log.warning("run %s: its keeper cannot be started: exit code %s", run.number, code)
            return False
        return True

    async def _is_ending(self, number: int) -> bool:
        return bool((await self._book.get(number)).ending)

    async def _never_began(self, run: Run) -> None:
        waits = await self._deliveries.waits(run)
        await self._settle(run, Ending(code=CANNOT_START, waits=waits, never_began=True))

    def end(self, number: int) -> None:
        """Have a run's process ended; one whose keeper is not here yet is ended when it comes."""
        if number in self._followed:
            self._followed[number][0].keeping.end()

    async def say(self, number: int, text: str) -> bool:
        """Tell a live process something; False where it cannot be told now."""
        followed = self._followed.get(number)
        if followed is None or not await followed[0].say(text):
            return False
        await self._premises.desks(followed[1].live).begin_turn()
        return True

    def _lend(self, run: Run) -> None:
        self._access.lend(run.token, run.caller)

    async def _look_after(self) -> None:
        """Find the runs whose keeper is gone without a word: the system has freed its lock."""
        await asyncio.sleep(LOOK_EVERY)
        for number in self._alive - self._following.keys() - self._hiring:
            try:
                if not self._premises.folder(number).is_kept():
                    self._bury(await self._book.get(number))
            except UpcallError as problem:
                log.warning("run %s cannot be looked after: %s", number, problem.message)
            except Exception:
                log.exception("run %s cannot be looked after", number)

    def _bury(self, run: Run) -> None:
        """Find out what became of a process that is gone, unless somebody is about to."""
        if run.number not in self._following:
            self._begin_to_follow(Keeping(run=run.number, start=run.starts, gone=True))

    async def _greet(self, hello: Hello) -> Known | None:
        try:
            run = await self._book.get(hello.run)
        except UnknownRun:
            return None
        return Known(key=run.token, is_newest=run.alive and run.starts == hello.start)

    def _begin_to_follow(self, keeping: Keeping) -> None:
        earlier = self._following.get(keeping.run)
        task = self._chores.add(self._follow(keeping, earlier), f"follow run {keeping.run}")
        self._following[keeping.run] = task
        task.add_done_callback(partial(self._forget, keeping.run))

    def _forget(self, number: int, task: "asyncio.Task[None]") -> None:
        if self._following.get(number) is task:
            del self._following[number]

    async def _follow(self, keeping: Keeping, earlier: "asyncio.Task[None] | None") -> None:
        if earlier is not None:
            # Its keeper lost us and is back; what was read so far is noted first.
            await asyncio.wait({earlier})
        run = await self._book.get(keeping.run)
        folder = self._premises.folder(run.number)
        if not run.alive or run.starts != keeping.start:
            self._alive.discard(run.number)
            return
        if keeping.gone and folder.latest_start() < run.starts and not run.ending:
            # Nothing was ever started under this number, so nothing is lost: it is as if we had not tried. Where
            # somebody else has the session at this moment, it is tried again, but not all the time.
            self._new.discard((run.number, run.starts))
            waits = await self._deliveries.waits(run)
            after, back = await self._book.change(run.number, partial(_put_back, waits))
            if not back:
                # Cancelled in this moment, and so it ends.
                await self._never_began(run)
                return
            asyncio.get_running_loop().call_later(BUSY_AGAIN if folder.is_kept() else 0, self._changed, after)
            return
        try:
            following, watch = self._follower(run, folder, keeping)
        except UpcallError as problem:
            # Its agent is in the settings no more: nobody could say what it does.
            log.warning("run %s cannot be followed: %s", run.number, problem.message)
            keeping.end()
            await self._settle(run, Ending(code=CANNOT_START, waits=await self._deliveries.waits(run)))
            return
        self._followed[run.number] = following, watch
        if await self._is_ending(run.number):
            keeping.end()
        try:
            code = await following.until_over()
            await watch.close()
        finally:
            watch.stop()
            del self._followed[run.number]
        if code is None and folder.is_kept():
            return  # The keeper lost us and will be back.
        words = watch.live.words
        if code == 0 and (words.finished is None or words.finished.ok):
            # A program that tells nothing about its turns has read what it was started with by now.
            await watch.spoke()
        await watch.over()
        unanswered = ""
        if words.asked is not None:
            is_ending = partial(self._is_ending, run.number)
            unanswered = await text_question.ask(following.desk, words.asked, run, is_ending)
        ending = Ending(
            code=LOST if code is None else code,
            finished=words.finished,
            deferred=words.deferred,
            ended_by_us=following.talks,
        )
        if ending.went_well and self._premises.agents(run.agent).hides_results:
            await self._deliveries.acknowledged(self._taken.by(run.number), run)
        waits = await self._deliveries.waits(run)
        await self._settle(run, replace(ending, waits=waits, unanswered=unanswered))

    def _follower(self, run: Run, folder: RunFolder, keeping: Keeping) -> tuple[Following, Watch]:
        told = told_for(run, folder)
        is_new = (run.number, run.starts) in self._new
        self._new.discard((run.number, run.starts))
        begins, talks = self._premises.begun(run, told)
        driver: Driver | None = None
        if talks and run.words.finished is not None:
            # It has said its last word to a daemon that did not get to end it.
            keeping.end()
        elif not keeping.gone:
            driver = self._premises.driver_of(run, told, is_new=is_new)
        watch = Watch(run, self._book, self._deliveries, self._clock, told.delivers)
        following = Following(
            keeping=keeping,
            folder=folder,
            begins=begins,
            read=run.read,
            reader=self._premises.agents(run.agent).reader(),
            driver=driver,
            talks=talks,
            desk=self._premises.desks(run),
            take=watch.take,
            mark=watch.mark,
            arrived=watch.heard,
        )
        return following, watch

    async def _settle(self, run: Run, ending: Ending) -> None:
        self._access.take_back(run.token)
        self._taken.forget(run.number)
        self._new.discard((run.number, run.starts))
        try:
            await asyncio.to_thread(self._premises.clear, run)
        except (OSError, UpcallError) as problem:
            log.warning("run %s: its folder cannot be cleared: %s", run.number, problem)
        down = self._going_down and not ending.waits

        def decide(current: Run) -> Step | None:
            if not current.alive or current.starts != run.starts:
                return None
            step = settled(current, ending, self._clock())
            if down and step.run.state is RunState.FAILED:
                return replace(step, run=replace(step.run, reason="upcall_down"))
            return step

        after, _ = await self._book.change(run.number, decide)
        self._alive.discard(run.number)
        self._changed(after)


def _put_back(waits: bool, run: Run) -> Step | None:  # noqa: FBT001 - a fact, not an option
    """The run as it was before its latest start, which never came about; None if nobody wants it any more."""
    if run.ending:
        return None
    before = replace(run, alive=False, messages=(*run.saying, *run.messages), saying=())
    if waits and not before.messages:
        return Step(run=replace(before, state=RunState.WAITING), event="run_waiting")
    return Step(run=replace(before, state=RunState.QUEUED), event="run_queued")


def start_keeper(home: Path, folder: RunFolder) -> int:
    """Have a keeper at work: 0, or why it is not. It goes on as nobody's child."""
    started = subprocess.run(
        [sys.executable, "-P", "-m", "upcall.runs.process.keeper", str(folder.path)],
        check=False,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    return started.returncode
