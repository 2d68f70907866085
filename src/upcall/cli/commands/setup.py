"""`upcall setup`: what an agent that you start yourself needs, shown before it is written; or what to do at a channel's vendor."""

import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from upcall.channels.onboarding import STEPS
from upcall.cli.command import Command, print_json
from upcall.cli.failures import CommandFailed, need_lasting_program, spelled
from upcall.cli.render.terminal import is_terminal, paint
from upcall.home.program import program
from upcall.setup.clients import ONLY_HOOKS, ServerCommand, UserFolders, files_for, own_server
from upcall.setup.hooks import EVENTS, KINDS
from upcall.setup.plan import PlannedChange, additions, apply, backup_of, removals


def _setup(args: Namespace) -> int:
    if args.agent in STEPS:
        return _vendor(args.agent, args.callback or "")
    place = UserFolders(home=Path.home(), environment=os.environ)
    if args.ci:
        from upcall.setup.ci import job_for

        print(job_for(args.agent))
        return 0
    door = own_server(os.environ)
    if args.remove:
        # Also the lines that only `--prompt` has written.
        changes = removals(files_for(args.agent, place, door, prompt=True, hooks=tuple(EVENTS)))
    else:
        hooks = _hooks(args)
        if args.agent in ONLY_HOOKS and (args.prompt or not hooks):
            raise CommandFailed(
                f"of {args.agent}, only the dialogs can reach you",
                hint=f"`{program()} setup {args.agent} --away`, without --prompt",
            )
        changes = additions(files_for(args.agent, place, door, prompt=args.prompt, hooks=hooks))
    if not changes:
        state = "nothing of Upcall's is in its files" if args.remove else "its files are as they have to be"
        print(f"Nothing to do for {args.agent}: {state}.")
        return 0 if args.remove else _look(args.agent, place, door, is_news=False)
    _show(changes)
    if args.dry_run:
        print("\nNothing was written: this was a dry run.", file=sys.stderr)
        return 0
    if not args.yes and not _agrees():
        print("Nothing was written.")
        return 1
    if not args.remove:
        need_lasting_program(f"what {args.agent} is told to start")
    apply(changes)
    _tell(changes)
    if args.remove:
        print(f"{args.agent} is no longer connected to Upcall.")
        return 0
    return _look(args.agent, place, door, is_news=True)


def _hooks(args: Namespace) -> list[str]:
    """The kinds of hooks that were asked for."""
    wanted = [kind for kind in EVENTS if getattr(args, kind)]
    for kind in wanted:
        if kind not in KINDS.get(args.agent, ()):
            known = ", ".join(agent for agent, kinds in KINDS.items() if kind in kinds)
            raise CommandFailed(
                f"--{kind} works with {known}, and not with {args.agent}",
                hint="`docs/away.md` says what each program can",
            )
    return wanted


def _vendor(kind: str, callback: str) -> int:
    """Print what to do at a channel's vendor; what is to be pasted there stands alone on standard output."""
    steps = STEPS[kind]
    if kind == "slack":
        from upcall.channels.slack.app import manifest

        print_json(manifest(callback))
    where = sys.stderr if kind == "slack" else sys.stdout
    for number, step in enumerate((*steps, f"Here: upcall channels add {kind}"), 1):
        print(f"{number}. {spelled(step)}", file=where)
    return 0


def _look(agent: str, place: UserFolders, door: ServerCommand, *, is_news: bool) -> int:
    """Print what keeps the agent from asking; after a change, also whether it can ask now."""
    if agent in ONLY_HOOKS:
        print(f"The dialogs of {agent} reach you while you are away, in every new session.")
        return 0
    from upcall.agents.catalogue import agent_named
    from upcall.setup.inspecting import exclusions

    (first, *_) = files_for(agent, place, door, prompt=False)
    found = exclusions(agent, place, Path.cwd(), first.path)
    for exclusion in found:
        print(f"upcall: {exclusion.path}: {exclusion.says}. Next: {exclusion.next}", file=sys.stderr)
    known = agent_named(agent, {})
    if shutil.which(known.program()) is None:
        print(
            f"upcall: {agent} cannot ask yet: {known.program()!r} is not installed, or not on PATH. "
            f"Next: {known.install_hint}, then `{program()} doctor {agent} --ask`",
            file=sys.stderr,
        )
        return 1
    if is_news and not found:
        print(f"{agent} can ask you now, in every new session.")
        print(f"Next: let it ask a test question with `{program()} doctor {agent} --ask`.")
    return 1 if found else 0


def _show(changes: Sequence[PlannedChange]) -> None:
    colours = paint()
    for change in changes:
        for line in change.diff():
            match line[:1]:
                case "+":
                    print(colours.good(line))
                case "-":
                    print(colours.bad(line))
                case _:
                    print(line)


def _agrees() -> bool:
    if not is_terminal(sys.stdin):
        raise CommandFailed(
            "these changes need your agreement, and there is no terminal to ask for it",
            hint="--yes writes them without asking, --dry-run only shows",
        )
    print("\nWrite this? [y/N] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _tell(changes: Sequence[PlannedChange]) -> None:
    for change in changes:
        if change.after is None:
            print(f"Removed {change.path}, which had nothing else in it.")
        elif change.backup:
            print(f"Wrote {change.path}; as it was before: {backup_of(change.path)}")
        else:
            print(f"Wrote {change.path}.")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "agent",
        metavar="AGENT",
        help="claude, codex, opencode, gemini; copilot with --away; or a vendor of a channel",
    )
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--remove", action="store_true", help="take everything out again")
    kind.add_argument("--ci", action="store_true", help="only print what a CI job needs instead")
    parser.add_argument(
        "--callback", metavar="URL", help="for slack: where Slack calls, instead of Socket Mode"
    )
    parser.add_argument(
        "--away",
        action="store_true",
        help="dialogs in its terminal reach you elsewhere while you do not type",
    )
    parser.add_argument(
        "--permissions",
        action="store_true",
        help="for claude: what your own `claude -p` may do is decided by you",
    )
    parser.add_argument("--prompt", action="store_true", help="also write when to ask into its memory file")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--yes", "-y", action="store_true", help="write without asking first")


COMMAND = Command(
    _setup,
    _arguments,
    examples="""\
  upcall setup claude              shows every change first, and asks
  upcall setup claude --away       also brings dialogs of its terminals to your phone
  upcall setup codex --dry-run     only shows
  upcall setup gemini --prompt     also tells it when to ask, in GEMINI.md
  upcall setup claude --remove     the files are as they were
  upcall setup codex --ci          what to put into a CI job
  upcall setup slack               the manifest of an app for your Slack, and what to do with it
  upcall setup telegram            what to do at Telegram; likewise discord, matrix, email, …""",
)
