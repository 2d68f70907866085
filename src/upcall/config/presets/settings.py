"""The settings that exist for the sake of one preset each; `upcall/presets/` has a module for each of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetSettings:
    """`drawing` is for gza, the others are for poietai."""

    drawing: Literal["runs", "tasks"] = "runs"
    token_in_path: bool = False
    work_tree_server: str = ""
    label_cards: bool = False

    def preset_problems(self) -> Iterator[str]:
        """What is wrong with these settings together."""
        if self.work_tree_server and not self.token_in_path:
            yield "work_tree_server: needs token_in_path = true, since the address is all that is written"
