"""Starts the processes of runs, follows them, and settles each run when its process has ended.

The book says that a process is started before it is, under a number that its keeper checks while it holds the run's lock.
So no run ever has two processes, even if a crash comes in between.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Container
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from upcall.access.connected import session_name
from upcall.domain.errors import UnknownRun, UpcallError
from upcall.domain.run.run import Run, RunState
from upcall.ports.agent import Driver
from upcall.ports.background import Background
from upcall.runs.book import Book, Step, with_a_process
from upcall.runs.deliveries import Deliveries
from upcall.runs.process.folder import RunFolder
from upcall.runs.process.follow import ProcessFollower
from upcall.runs.process.host import RunHost, TurnInput
from upcall.runs.process.keeper import BUSY, CANNOT_START, STALE
from upcall.runs.process.keeper_server import Hello, KeeperConnection, KnownKeeper
from upcall.runs.process.settle import Ending, ask_text_question, put_back, settled
from upcall.runs.process.watch import Watch
from upcall.runs.tasks import Tasks

CHECK_EVERY = 2.0
"""Seconds between two checks of keepers that should be there. One that ends in the ordinary way says so itself."""

LOST = -9
"""The exit code of a process that has vanished without one."""

BUSY_AGAIN = 2.0
"""Seconds before a session is tried again that a person has taken over."""

KEEPER_AGAIN = (1.0, 5.0, 15.0)
"""Seconds before each further try to start a keeper, which fails while a new version is being installed."""

log = logging.getLogger("upcall.runs")


class Supervisor:
    """The processes of one daemon's runs. `ended` is called with every run that has lost its process.

    It satisfies `Sessions` of `runs/resume.py` and `KeeperOwner` of `keeper_server.py`.
    """

    def __init__(
        self, host: RunHost, book: Book, deliveries: Deliveries, ended: Callable[[Run], None]
    ) -> None:
        self._host = host
        self._book = book
        self._deliveries = deliveries
        self._ended = ended
        self._keepers = host.keeper_server(self)
        self._followed: dict[int, tuple[ProcessFollower, Watch]] = {}
        self._following: dict[int, asyncio.Task[None]] = {}
        self._alive: set[int] = set()
        self._starting: set[int] = set()
        self._new: set[tuple[int, int]] = set()
        self._one_start = asyncio.Lock()
        self._tasks = Tasks()
        self._checking = Background("looking after keepers", self._check_keepers, log)
        self._going_down = False

    async def open(self) -> None:
        """Listen for keepers, and take up the runs that another daemon has left."""
        await self._keepers.start()
        for run in await self._book.own(RunState.RUNNING, RunState.WAITING):
            if not run.alive:
                continue
            if await asyncio.to_thread(self._host.loses_touch, run):
                # It is about to be ended. An answer through its pipe would be told once more to the next process, and a
                # refusal would be news to its model.
                self._host.access.withhold(run.token)
            else:
                self._lend_token(run)
            self._alive.add(run.number)
            if not self._host.folder(run.number).is_locked():
                self._follow_gone(run)
        self._checking.start()

    async def close(self, *, end: bool) -> None:
        """Let go of every process; with `end`, end them first."""
        self._going_down = end
        if end:
            for following, _ in self._followed.values():
                following.keeper.end()
            if self._following:
                await asyncio.wait(set(self._following.values()), timeout=2 * self._host.settings.kill_grace)
        await self._checking.close()
        await self._keepers.close()
        await self._tasks.close()

    def live(self, run: Run) -> Run:
        """A run with what its process has done since it was last noted."""
        followed = self._followed.get(run.number)
        return run if followed is None else followed[1].onto(run)

    @asynccontextmanager
    async def room(self) -> AsyncIterator[int]:
        """How many more runs may work now; no other caller starts one while this context lasts."""
        async with self._one_start:
            yield self._host.settings.limit - len(await self._book.own(RunState.RUNNING))

    def rested_at(self, run: Run) -> float:
        """From when on the session of a run may be resumed."""
        return self._host.rested_at(run)

    def is_taken(self, run: Run) -> bool:
        """Whether a person has taken over the session of a run, or a pipe speaks for it."""
        return self._host.folder(run.number).is_locked() or self.is_connected(run.agent, run.session)

    def is_connected(self, program: str, session: str) -> bool:
        """Whether a pipe speaks for a session."""
        connected: Container[str] = self._host.held
        return session_name(program, session) in connected

    async def start(self, number: int, given: TurnInput) -> bool:
        """Start a process for a run that has none; False if it has one by now, or is to end."""
        # A deferred call is resumed without a word, and a task has words of its own: messages are for the next turn.
        decide = partial(
            with_a_process, now=self._book.now(), resumes=given.resumes, says=given.message is not None
        )
        # The check of keepers must not take a process for lost that is only about to be started.
        self._starting.add(number)
        begun = True
        try:
            run, taken = await self._book.change(number, decide)
            if taken:
                self._alive.add(number)
                begun = await self._launch(run, given.adding(run.saying))
        finally:
            if begun:
                self._starting.discard(number)
        if not begun:
            _ = self._tasks.add(self._start_later(run), f"start run {number} after all")
        return taken

    async def _launch(self, run: Run, given: TurnInput) -> bool:
        """Prepare a process, and start it by a keeper; False if the keeper cannot be started now."""
        try:
            await asyncio.to_thread(self._host.prepare, run, given)
            if given.said:
                await self._host.desks(run).begin_turn()
            self._lend_token(run)
            self._new.add((run.number, run.starts))
            return await self._start_keeper(run)
        except (OSError, UpcallError) as problem:
            log.warning("run %s cannot be started: %s", run.number, problem)
            await self._never_began(run)
            return True

    async def _start_later(self, run: Run) -> None:
        """Try to start a keeper again. The caller of `start` does not wait for this."""
        try:
            for pause in KEEPER_AGAIN:
                await asyncio.sleep(pause)
                if await self._is_ending(run.number):
                    break
                if await self._start_keeper(run):
                    return
            await self._never_began(run)
        finally:
            self._starting.discard(run.number)

    async def _start_keeper(self, run: Run) -> bool:
        try:
            code = await asyncio.to_thread(self._host.start_keeper, run.number)
        except OSError as problem:
            log.warning("run %s: its keeper cannot be started: %s", run.number, problem)
            return False
        if code in (BUSY, STALE):
            self._follow_gone(run)
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
        """End a run's process; if its keeper is not connected yet, it is ended when it connects."""
        if number in self._followed:
            self._followed[number][0].keeper.end()

    async def say(self, number: int, text: str) -> bool:
        """Tell a live process something; False where it cannot be told now."""
        followed = self._followed.get(number)
        if followed is None or not await followed[0].say(text):
            return False
        await self._host.desks(followed[1].live).begin_turn()
        return True

    def _lend_token(self, run: Run) -> None:
        self._host.access.lend(run.token, run.caller)

    async def _check_keepers(self) -> None:
        """Find the runs that lost their keeper without a word: the system has freed its lock."""
        await asyncio.sleep(CHECK_EVERY)
        for number in self._alive - self._following.keys() - self._starting:
            try:
                if not self._host.folder(number).is_locked():
                    self._follow_gone(await self._book.get(number))
            except UpcallError as problem:
                log.warning("run %s cannot be looked after: %s", number, problem.message)
            except Exception:
                log.exception("run %s cannot be looked after", number)

    def _follow_gone(self, run: Run) -> None:
        """Follow a process that is gone to its end, unless a task does so already."""
        if run.number not in self._following:
            self.connected(KeeperConnection(run=run.number, start=run.starts, gone=True))

    async def known(self, hello: Hello) -> KnownKeeper | None:
        """See `KeeperOwner.known`."""
        try:
            run = await self._book.get(hello.run)
        except UnknownRun:
            return None
        return KnownKeeper(key=run.token, is_newest=run.alive and run.starts == hello.start)

    def connected(self, keeper: KeeperConnection) -> None:
        """See `KeeperOwner.connected`."""
        earlier = self._following.get(keeper.run)
        task = self._tasks.add(self._follow(keeper, earlier), f"follow run {keeper.run}")
        self._following[keeper.run] = task
        task.add_done_callback(partial(self._forget, keeper.run))

    def _forget(self, number: int, task: "asyncio.Task[None]") -> None:
        if self._following.get(number) is task:
            del self._following[number]

    async def _follow(self, keeper: KeeperConnection, earlier: "asyncio.Task[None] | None") -> None:
        if earlier is not None:
            # Its keeper lost us and is back; what was read so far is noted first.
            await asyncio.wait({earlier})
        run = await self._book.get(keeper.run)
        folder = self._host.folder(run.number)
        if not run.alive or run.starts != keeper.start:
            self._alive.discard(run.number)
            return
        if keeper.gone and folder.latest_start() < run.starts and not run.ending:
            # Nothing was ever started under this number, so nothing is lost: it is as if we had not tried. While a person
            # has the session, it is tried again after a pause.
            self._new.discard((run.number, run.starts))
            waits = await self._deliveries.waits(run)
            after, back = await self._book.change(run.number, partial(put_back, waits))
            if not back:
                # Cancelled in this moment, and so it ends.
                await self._never_began(run)
                return
            asyncio.get_running_loop().call_later(BUSY_AGAIN if folder.is_locked() else 0, self._ended, after)
            return
        try:
            following, watch = self._follower(run, folder, keeper)
        except UpcallError as problem:
            # Its agent is not in the settings any more, so no adapter can read its output.
            log.warning("run %s cannot be followed: %s", run.number, problem.message)
            keeper.end()
            await self._settle(run, Ending(code=CANNOT_START, waits=await self._deliveries.waits(run)))
            return
        self._followed[run.number] = following, watch
        if await self._is_ending(run.number):
            keeper.end()
        try:
            code = await following.until_over()
            await watch.close()
        finally:
            watch.stop()
            del self._followed[run.number]
        if code is None and folder.is_locked():
            return  # The keeper lost us and will be back.
        words = watch.live.words
        if code == 0 and (words.finished is None or words.finished.ok):
            # A program that tells nothing about its turns has read what it was started with by now.
            await watch.spoke()
        await watch.over()
        unanswered = ""
        if words.asked is not None:
            is_ending = partial(self._is_ending, run.number)
            unanswered = await ask_text_question(following.desk, words.asked, run, is_ending)
        ending = Ending(
            code=LOST if code is None else code,
            finished=words.finished,
            deferred=words.deferred,
            ended_by_us=following.talks,
        )
        if ending.went_well and self._host.agents(run.agent).hides_results:
            await self._deliveries.acknowledged(self._host.held.taken.by(run.number), run)
        waits = await self._deliveries.waits(run)
        await self._settle(run, replace(ending, waits=waits, unanswered=unanswered))

    def _follower(
        self, run: Run, folder: RunFolder, keeper: KeeperConnection
    ) -> tuple[ProcessFollower, Watch]:
        given = self._host.input_of(run)
        is_new = (run.number, run.starts) in self._new
        self._new.discard((run.number, run.starts))
        begins, talks = self._host.begun(run, given)
        driver: Driver | None = None
        if talks and run.words.finished is not None:
            # It has said its last word to a daemon that did not get to end it.
            keeper.end()
        elif not keeper.gone:
            driver = self._host.driver_of(run, given, is_new=is_new)
        watch = Watch(run, self._book, self._deliveries, given.delivers)
        following = ProcessFollower(
            keeper=keeper,
            folder=folder,
            begins=begins,
            read=run.read,
            reader=self._host.agents(run.agent).reader(),
            driver=driver,
            talks=talks,
            desk=self._host.desks(run),
            watch=watch,
        )
        return following, watch

    async def _settle(self, run: Run, ending: Ending) -> None:
        self._host.access.take_back(run.token)
        self._host.held.taken.forget(run.number)
        self._new.discard((run.number, run.starts))
        try:
            await asyncio.to_thread(self._host.clear, run)
        except (OSError, UpcallError) as problem:
            log.warning("run %s: its folder cannot be cleared: %s", run.number, problem)
        down = self._going_down and not ending.waits

        def decide(current: Run) -> Step | None:
            if not current.alive or current.starts != run.starts:
                return None
            step = settled(current, ending, self._book.now())
            if down and step.run.state is RunState.FAILED:
                return replace(step, run=replace(step.run, reason="upcall_down"))
            return step

        after, _ = await self._book.change(run.number, decide)
        self._alive.discard(run.number)
        self._ended(after)
