"""Upcall: the broker between headless coding agents and their people.

The names of the client are loaded when they are first used: every command and every pipe imports this module. What they
are is in `__init__.pyi`, for type checkers.
"""

__version__ = "0.2.0"

_MODULES = ("errors", "sync")
"""The modules of `upcall.client` that are public themselves."""

_BRIDGES = (
    "ag_ui",
    "claude",
    "crewai",
    "google_adk",
    "langgraph",
    "openai_agents",
    "pydantic_ai",
    "smolagents",
    "strands",
)
"""The modules of `upcall.client.bridges`, most of which need the library of their framework."""

_CLIENT = {
    "ask": "asking",
    "approve": "asking",
    "Client": "client",
    "UpcallError": "errors",
    **dict.fromkeys(
        ("Answered", "Rejected", "Expired", "Cancelled", "Failed", "Parked", "Outcome"), "outcome"
    ),
    **dict.fromkeys(("Allowed", "Denied", "Verdict"), "outcome"),
    **dict.fromkeys(("Question", "Option", "Attachment", "Progress"), "request"),
}
"""The public names of the client, and the module of `upcall.client` that has each."""


def __getattr__(name: str) -> object:
    if name not in _CLIENT and name not in _MODULES and name not in _BRIDGES:
        raise AttributeError(f"module 'upcall' has no attribute {name!r}")
    # It costs a program that only wants the version nothing.
    from importlib import import_module  # noqa: PLC0415

    folder = "upcall.client.bridges" if name in _BRIDGES else "upcall.client"
    try:
        module = import_module(f"{folder}.{_CLIENT.get(name, name)}")
    except ModuleNotFoundError as missing:
        if name not in _BRIDGES:
            raise
        # CrewAI holds a library back that Upcall needs newer, so no extra could be installed.
        wanted = name if name == "crewai" else f"'upcall[{name.replace('_', '-')}]'"
        hint = f"upcall.{name} needs {missing.name!r}: pip install {wanted}"
        raise ModuleNotFoundError(hint, name=missing.name) from missing
    found = getattr(module, name) if name in _CLIENT else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_CLIENT, *_MODULES, *_BRIDGES})
