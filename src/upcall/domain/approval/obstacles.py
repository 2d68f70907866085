"""Why the first words of a command cannot be remembered: the character, the variable or the program that prevents it."""

from dataclasses import dataclass
from enum import StrEnum

from upcall.domain.approval.places import is_plain
from upcall.domain.approval.programs import is_told, offered_prefix, prefix_problem
from upcall.domain.inquiry.inquiry import Subject
from upcall.domain.text.display import escaped, one_line


class Obstacle(StrEnum):
    """What kind of thing prevents it."""

    CHARACTER = "character"
    VARIABLE = "variable"
    SECRET = "secret"  # noqa: S105 - the name of a reason
    RUNS_OTHERS = "runs_others"
    UNKNOWN = "unknown"
    FOLDER = "folder"


MASKED = "secret"
"""What `Subject.unclear` says of a command with a secret in it."""

SENTENCES = {
    Obstacle.CHARACTER: "with {what} in it, the command is more than one simple command",
    Obstacle.VARIABLE: "the command sets the variable {what} first",
    Obstacle.SECRET: "a secret in the command is masked",
    Obstacle.RUNS_OTHERS: "{what} runs other commands, so its first words do not say what is allowed",
    Obstacle.UNKNOWN: "what {what} does with other arguments is not known",
    Obstacle.FOLDER: "the directory in which the command runs is not known",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPrefix:
    """One reason; `what` is the character, variable or program."""

    obstacle: Obstacle
    what: str = ""

    @property
    def sentence(self) -> str:
        """The reason in English, without a full stop."""
        return SENTENCES[self.obstacle].format(what=self.what)


def no_prefix(subject: Subject) -> NoPrefix | None:
    """Why a command is not offered to be remembered by its first words; None where it is, and for what is no command."""
    if subject.unclear == MASKED:
        return NoPrefix(obstacle=Obstacle.SECRET)
    if subject.unclear:
        variable = subject.unclear.removesuffix("=")
        if variable and variable != subject.unclear:
            return NoPrefix(obstacle=Obstacle.VARIABLE, what=one_line(variable, 60))
        shown = subject.unclear if subject.unclear.isprintable() else repr(subject.unclear)[1:-1]
        # Some letters are printable and drawn as nothing.
        return NoPrefix(obstacle=Obstacle.CHARACTER, what=escaped(shown))
    words = subject.words
    if not words:
        return None
    if not offered_prefix(words):
        if prefix_problem(words[:1]) is not None:
            return NoPrefix(obstacle=Obstacle.RUNS_OTHERS, what=one_line(words[0], 60))
        # Many programs are told by their second word what to do; where that is all that is unknown, it is named as well.
        named = words[:2] if is_told(words[0]) else words[:1]
        return NoPrefix(obstacle=Obstacle.UNKNOWN, what=one_line(" ".join(named), 60))
    return None if is_plain(subject.cwd) else NoPrefix(obstacle=Obstacle.FOLDER)
