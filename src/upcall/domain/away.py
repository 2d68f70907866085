"""Whether a person is away from the terminal of a session, so that its dialogs go to people elsewhere."""

import math
from enum import StrEnum

AWAY_AFTER = 60.0
"""Seconds without a key after which a person is taken to be away."""


class AwayMode(StrEnum):
    """What decides that a person is away: the time since the last key, or a word of theirs."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


def seconds_left(mode: AwayMode, idle: float | None, after: float) -> float:
    """Seconds until the person counts as away; 0 once they do. A terminal that tells no time of its last key never leads there."""
    match mode:
        case AwayMode.ON:
            return 0.0
        case AwayMode.OFF:
            return math.inf
        case AwayMode.AUTO:
            return math.inf if idle is None or math.isnan(idle) else max(after - idle, 0.0)
