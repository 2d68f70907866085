"""A channel of the settings that cannot be used here: why, and what to do about it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Off:
    """Why a channel is off. `problem` names the key, and the variable or the library that is missing."""

    problem: str
    hint: str
