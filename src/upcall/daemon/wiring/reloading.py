"""Reads the settings again while the daemon runs, and puts in force what can change then: channels and routes.

It knows no channel in particular. A channel with other settings than before is stopped and started, one that was off is tried
again, and the others go on untouched. Settings that cannot be read change nothing.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from upcall.broker.broker import Broker
from upcall.config.channels import PushSettings
from upcall.config.settings import Config, keys, reachable
from upcall.daemon.wiring.channels import ChannelMaker, channel_routing
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.listening import LEASE
from upcall.dispatch.people import People
from upcall.domain.channel.routing import Place
from upcall.domain.errors import InvalidSetting
from upcall.ports.background import Background

RETRY_EVERY = 5.0
"""Seconds after which a channel that is off is tried again."""

LIVE = frozenset({"inbox"})
"""Settings beside channels and routes that count at once."""

ReadSettings = Callable[[], Config]
"""Reads the settings of the home, with the options that the daemon was started with."""

log = logging.getLogger("upcall.wiring")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reloaded:
    """What new settings have changed: channels that were started, ended or are off, and keys that need a restart."""

    started: Sequence[str]
    ended: Sequence[str]
    off: Mapping[str, str]
    restart: Sequence[str]

    def words(self) -> str:
        """As the log has it; the reason why a channel is off stands there already."""
        parts = {
            "started": self.started,
            "ended": self.ended,
            "off": list(self.off),
            "after a restart": self.restart,
        }
        return "".join(f"; {part}: {', '.join(names)}" for part, names in parts.items() if names)

    def document(self) -> dict[str, object]:
        """As others see it in JSON."""
        off = [{"name": name, "problem": problem} for name, problem in self.off.items()]
        return {
            "started": list(self.started),
            "ended": list(self.ended),
            "off": off,
            "restart": list(self.restart),
        }


class Reloading:
    """One per daemon."""

    def __init__(self, read: ReadSettings, config: Config, maker: ChannelMaker, dispatch: Dispatch) -> None:
        self._read = read
        self._config = config
        self._maker = maker
        self._dispatch = dispatch
        self._lock = asyncio.Lock()
        self._retrying = Background("trying channels that are off", self._retry, log)

    def start(self) -> None:
        """Begin to try channels that are off."""
        self._count_push()
        self._retrying.start()

    async def close(self) -> None:
        """Stop."""
        await self._retrying.close()

    async def reload(self) -> Mapping[str, object]:
        """Read the settings and the secrets again, and say what that has changed.

        Raises:
            InvalidSetting: if the settings cannot be used; then everything stays as it is.
        """
        async with self._lock:
            new = await asyncio.to_thread(self._read)
            before = self._config
            config = replace(
                before,
                channels=new.channels,
                channels_off=new.channels_off,
                routes=new.routes,
                inbox=new.inbox,
            )
            reloaded = replace(await self._take(config), restart=_needing_restart(before, new))
        log.info("the settings were read again%s", reloaded.words())
        return reloaded.document()

    async def _retry(self) -> None:
        """Read again what is wrong with the channels that are off; other changes wait for a reload."""
        await asyncio.sleep(RETRY_EVERY)
        async with self._lock:
            off = self._dispatch.off
            if not off:
                return
            try:
                new = await asyncio.to_thread(self._read)
            except InvalidSetting as error:
                log.debug("the settings cannot be read again: %s", error.message)
                return
            before = self._config
            mended = {name: new.channels[name] for name in off if name in new.channels}
            broken = {name: new.channels_off[name] for name in off if name in new.channels_off}
            kept = {name: why for name, why in before.channels_off.items() if name not in mended}
            channels = {name: each for name, each in before.channels.items() if name not in broken} | mended
            await self._take(replace(before, channels=channels, channels_off=kept | broken))

    async def _take(self, config: Config) -> Reloaded:
        """Put the channels and routes of these settings in force."""
        dispatch, before = self._dispatch, self._config
        # The address of the daemon itself cannot change meanwhile.
        config = reachable(config)
        wanted = {
            name: settings
            for name, settings in config.channels.items()
            if name in dispatch.off or settings != before.channels.get(name)
        }
        made = self._maker.make(wanted)
        off = {**config.channels_off, **made.off}
        gone = [name for name in dispatch.names if name not in config.channels and name not in off]
        news = {name: why for name, why in off.items() if dispatch.off.get(name) != why}
        await dispatch.change(made.channels, news, gone, channel_routing(config))
        self._config = config
        self._count_push()
        started = [each.name for each in made.channels]
        for name in started:
            log.info("the channel %s is on", name)
        return Reloaded(
            started=started,
            ended=gone,
            off={name: why.problem for name, why in dispatch.off.items()},
            restart=(),
        )

    def _count_push(self) -> None:
        if self._maker.pushed is not None:
            on = self._config.channels.keys() - self._dispatch.off.keys()
            push = any(isinstance(self._config.channels[name], PushSettings) for name in on)
            self._maker.pushed.in_use = push


def _needing_restart(before: Config, new: Config) -> Sequence[str]:
    """The keys of settings that a running daemon cannot take."""
    values = {key: value for key, _, value in keys(before)}
    changed = [key for key, _, value in keys(new) if value != values[key] and key not in LIVE]
    return [*changed, *(["agents"] if before.agents != new.agents else [])]


@asynccontextmanager
async def running_channels(
    broker: Broker,
    config: Config,
    read: ReadSettings,
    routing: CurrentRouting,
    maker: ChannelMaker,
    notifications: Mapping[Place, ConfiguredChannel],
    *,
    shared: bool,
) -> AsyncIterator[tuple[Dispatch, Reloading]]:
    """The channels at work; where daemons share a database, one at a time listens to each channel."""
    made = maker.make(config.channels)
    dispatch = Dispatch(
        broker,
        People(broker.store, broker.now),
        made.channels,
        routing,
        listening_lease=LEASE if shared else None,
        notifications=notifications,
        off={**config.channels_off, **made.off},
    )
    reloading = Reloading(read, config, maker, dispatch)
    try:
        await dispatch.start()
        reloading.start()
        yield dispatch, reloading
    finally:
        await reloading.close()
        await dispatch.close()
