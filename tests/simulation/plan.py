"""The plan of a simulated world: how large it is, and which faults come when. A plan is data, so it can be kept and made smaller."""

import json
from dataclasses import asdict, dataclass, replace
from random import Random

FAULTS = ("crash", "cut", "cut", "halt", "jump", "kill", "vanish", "refuse", "down", "silent")
"""A daemon is killed, or in the moment in which the store or the vendor has done something for it, or halted for a while; the clock
jumps; an agent is killed, alone or with its keeper; the store refuses for a while; the vendor is down, or silent after it took a
message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong before a step of the loop; `of` is a daemon or an agent, `size` how long or how far."""

    step: int
    kind: str
    of: int = 0
    size: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A world: `runs` are supervised sessions, `own` such that people have started, each with so many `questions`."""

    seed: int
    daemons: int = 2
    runs: int = 2
    own: int = 1
    questions: int = 2
    people: int = 2
    faults: tuple[Fault, ...] = ()

    def smaller(self) -> "list[Plan]":
        """Plans that are a step smaller, the smallest first."""
        half, found = len(self.faults) // 2, list[Plan]()
        if half:
            found += [replace(self, faults=self.faults[half:]), replace(self, faults=self.faults[:half])]
        for name, least in (("runs", 0), ("own", 0), ("questions", 1), ("people", 1), ("daemons", 1)):
            if (size := getattr(self, name)) > least and not (
                name in {"runs", "own"} and self.runs + self.own == 1
            ):
                found.append(replace(self, **{name: size - 1}))
        found += [
            replace(self, faults=self.faults[:at] + self.faults[at + 1 :]) for at in range(len(self.faults))
        ]
        return found

    def as_json(self) -> str:
        """As it is kept in a file."""
        return json.dumps(asdict(self), indent=1) + "\n"


def plan_in(text: str) -> Plan:
    """The plan in a file."""
    read = json.loads(text)
    return Plan(**{**read, "faults": tuple(Fault(**fault) for fault in read["faults"])})


def random_plan(seed: int) -> Plan:
    """The plan of a seed."""
    random = Random(seed)
    daemons = random.choice((1, 2, 2, 3))
    runs, own = random.choice(((1, 0), (0, 1), (1, 1), (2, 1), (3, 0)))
    count = random.choice((0, 1, 2, 3, 5, 8, 13))
    faults = [
        Fault(
            step=int(random.expovariate(1 / 1500)),
            kind=random.choice(FAULTS),
            of=random.randrange(6),
            size=random.choice((0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 20.0, 100.0, 4000.0))
            * random.choice((1, 1, 1, -1)),
        )
        for _ in range(count)
    ]
    return Plan(
        seed=seed,
        daemons=daemons,
        runs=runs,
        own=own,
        questions=random.choice((1, 2, 3)),
        people=random.choice((1, 2, 3)),
        faults=tuple(sorted(faults, key=lambda fault: fault.step)),
    )
