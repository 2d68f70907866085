"""The names that other packages may use: those of `upcall` itself, of its client and of `upcall.testing`.

`python -m tests.repository.public_names` writes them down anew.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = Path(__file__).with_name("public_names.json")


def public_names() -> dict[str, list[str]]:
    """Each public module with its names; those of a class too, except its tests."""
    package = ROOT / "src/upcall"
    modules = [package / "__init__.py", *sorted((package / "testing").glob("*.py"))]
    found = {_dotted(path): sorted(_offered(ast.parse(path.read_text("utf-8")))) for path in modules}
    found["upcall"] += sorted(_client_names(package))
    return {module: names for module, names in found.items() if names}


def _offered(tree: ast.Module) -> Iterator[str]:
    """The names of a module: those of its `__all__`, with their members; without one, all that are not private."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                listed: list[str] = ast.literal_eval(value)
                defined = [name for name in _names(tree) if name.partition(".")[0] in listed]
                yield from sorted({*listed, *defined})
                return
            case _:
                pass
    yield from _names(tree)


def _client_names(package: Path) -> Iterator[str]:
    """What `upcall` offers of its client: the stub says which names, and which modules as a whole."""
    stub = ast.parse((package / "__init__.pyi").read_text("utf-8"))
    for node in stub.body:
        match node:
            case ast.ImportFrom(module="upcall.client" | "upcall.client.bridges" as folder, names=modules):
                for module in modules:
                    path = ROOT.joinpath("src", *folder.split("."), f"{module.name}.py")
                    inner = ast.parse(path.read_text("utf-8"))
                    yield from (f"{module.name}.{name}" for name in _names(inner))
            case ast.ImportFrom(module=str(module), names=names):
                path = ROOT.joinpath("src", *module.split(".")).with_suffix(".py")
                offered = {alias.name for alias in names}
                every = _names(ast.parse(path.read_text("utf-8")))
                yield from (name for name in every if name.partition(".")[0] in offered)
            case _:
                pass


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(tree: ast.Module | ast.ClassDef) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found = [name]
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found = [name]
            case ast.ClassDef(name=name):
                found = [name, *(f"{name}.{member}" for member in _names(node))]
            case _:
                found = []
        yield from (each for each in found if each == "__version__" or not each.startswith(("_", "test_")))


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(public_names(), indent=2) + "\n", "utf-8")
