"""What other packages use keeps its names, or changes them on purpose."""

import importlib
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import upcall
from tests.repository.public_names import ROOT, SNAPSHOT, public_names
from upcall import testing
from upcall.testing.agent_contract import AgentContract, AgentHarness
from upcall.testing.channel_house import CallingVendor, DirectVendor, Vendor
from upcall.testing.store_contract import StoreContract

BRIDGES: tuple[str, ...] = vars(upcall)["_BRIDGES"]
WITHOUT_A_LIBRARY = {"ag_ui", "google_adk", "strands"}
KEPT: dict[str, list[str]] = json.loads(SNAPSHOT.read_text("utf-8"))


@pytest.mark.promise("house/3")
def test_the_public_names_are_those_of_the_snapshot() -> None:
    assert public_names() == KEPT, "if that is meant, run: python -m tests.repository.public_names"


@pytest.mark.parametrize("module", KEPT)
def test_every_public_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(module)
    # The libraries of the bridges are elsewhere, and so are their tests.
    names = {name.partition(".")[0] for name in KEPT[module]} - set(BRIDGES)
    # A package names its modules, and imports none of them.
    assert [name for name in names if not (hasattr(found, name) or find_spec(f"{module}.{name}"))] == []


def test_every_module_for_tests_of_others_lists_its_names() -> None:
    folder = Path(testing.__file__).parent
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")
    assert testing.__all__ == modules
    for name in modules:
        module = importlib.import_module(f"upcall.testing.{name}")
        listed: list[str] = module.__all__
        assert sorted(listed) == sorted(each for each in KEPT[f"upcall.testing.{name}"] if "." not in each)


@pytest.mark.promise("programs/31")
def test_the_page_about_plugins_has_every_suite_and_what_it_is_given() -> None:
    page = (ROOT / "docs/plugins.md").read_text("utf-8")
    mentioned = {word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"\w+", code)}
    suites = {
        name
        for module in KEPT
        for name in KEPT[module]
        if re.fullmatch(r"(Direct)?[A-Z][a-z]+Contract", name)
    }
    parts = {base.__name__ for suite in (AgentContract, StoreContract) for base in suite.__mro__[1:]}
    given = {
        name
        for each in (Vendor, DirectVendor, CallingVendor, AgentHarness)
        for name in {**vars(each), **each.__annotations__}
        if not name.startswith("_") and name not in {"is_driven", "every_command"}
    }
    assert sorted(((suites - parts) | given) - mentioned) == []


@pytest.mark.parametrize("bridge", [each for each in BRIDGES if each not in WITHOUT_A_LIBRARY])
def test_a_bridge_without_its_library_says_what_to_install(bridge: str) -> None:
    wanted = "pip install crewai" if bridge == "crewai" else r"pip install 'upcall\[[a-z-]+\]'"
    with pytest.raises(ModuleNotFoundError, match=wanted):
        getattr(upcall, bridge)
