"""How `status`, `show` and `answer` draw runs: in full, or as a preset wants it."""

from typing import Protocol

from upcall.cli.client import Client
from upcall.cli.render.inquiries import Inquiry, answer_command, asker
from upcall.cli.render.runs import Run, ended_line, run_facts, run_line
from upcall.cli.render.terminal import Paint
from upcall.presets.drawing import TaskDrawing, draws_tasks


class RunDrawing(Protocol):
    """A way to draw runs."""

    @property
    def done_heading(self) -> str:
        """Stands above what was settled today."""
        ...

    @property
    def lists_questions(self) -> bool:
        """Whether questions that were settled today are listed beside runs."""
        ...

    def asker(self, inquiry: Inquiry, run: Run | None) -> str:
        """Who asks a question, and about what."""
        ...

    def answer_command(self, inquiry: Inquiry, name: str) -> str:
        """A command that answers a question of a run."""
        ...

    def resuming(self, number: int) -> str:
        """Announces that an answer starts a process of a run."""
        ...

    def line(self, run: Run, now: float, paint: Paint, width: int | None) -> str:
        """A run that is not over."""
        ...

    def ended_line(self, run: Run, now: float, paint: Paint, width: int | None) -> str:
        """A run that is over."""
        ...

    def facts(self, run: Run, now: float, paint: Paint) -> list[str]:
        """Everything about a run but its questions."""
        ...


class FullDrawing:
    """Everything that is known about a run."""

    done_heading = "DONE TODAY:"
    lists_questions = True

    def asker(self, inquiry: Inquiry, run: Run | None) -> str:
        """The agent, and its header or its task."""
        about = inquiry["questions"][0]["header"] if run is None else run["task"]
        return f"{asker(inquiry)}: {about}" if about else asker(inquiry)

    def answer_command(self, inquiry: Inquiry, name: str) -> str:
        """Answers with the first option of each question."""
        return answer_command(inquiry, name)

    def resuming(self, number: int) -> str:
        """By the run's number."""
        return f"Resuming run #{number} with your answer …"

    def line(self, run: Run, now: float, paint: Paint, width: int | None) -> str:
        """With its agent, its progress and its tool."""
        return run_line(run, now, paint, width)

    def ended_line(self, run: Run, now: float, paint: Paint, width: int | None) -> str:
        """With its agent and the time of its end."""
        return ended_line(run, now, paint, width)

    def facts(self, run: Run, now: float, paint: Paint) -> list[str]:
        """With its folder, session, tokens and result."""
        return run_facts(run, now, paint)


def drawing_for(client: Client) -> RunDrawing:
    """The drawing of this home; runs of a remote daemon are drawn in full."""
    return TaskDrawing() if not client.remote and draws_tasks(client.home) else FullDrawing()
