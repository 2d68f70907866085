"""The reference of the client, from its signatures and docstrings. `python -m docs.reference` writes it.

It reads the sources and imports nothing: the libraries of the bridges are in an environment of their own.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).with_name("client-reference.md")
PACKAGE = Path(__file__).parents[1] / "src/upcall"
TITLE = """\
# Every name of the client

Written by `python -m docs.reference` from the signatures and docstrings of the client; do not edit. [Programs](programs.md) and
[Frameworks](frameworks.md) explain how they belong together. Names begin with `upcall.`, and all are typed."""
RUN = "<!-- run by: tests/client/test_docstrings.py::test_the_examples_in_docstrings_are_run -->\n```pycon\n{}\n```"
SIGNATURE = "<!-- not run: a signature is no command -->\n```python\n{}\n```"
ARGUMENTS = ("Waiting", "Asking", "Approving")

Documented = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def page() -> str:
    """The page of every public name, in the order of the stub."""
    parts = [TITLE]
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text("utf-8"))
    whole: list[tuple[str, Path]] = []
    for node in stub.body:
        match node:
            case ast.ImportFrom(module="upcall.client" | "upcall.client.bridges" as folder, names=names):
                whole += [(each.name, _source(f"{folder}.{each.name}")) for each in names]
            case ast.ImportFrom(module=str(module), names=names):
                parts += _offered(_source(module), {each.name for each in names})
            case _:
                pass
    parts += _arguments()
    for name, path in sorted(whole, key=lambda each: (each[0] not in {"sync", "errors"}, each[0])):
        parts += _errors(path) if name == "errors" else _module(name, path)
    # Signatures as long as they are in the sources are wrapped as there.
    ruff = str(Path(sys.executable).with_name("ruff"))
    wrapped = [ruff, "format", "--no-cache", "--stdin-filename", str(PAGE), "-"]
    text = "\n\n".join(parts) + "\n"
    return subprocess.run(wrapped, input=text, capture_output=True, text=True, check=True).stdout


def _source(module: str) -> Path:
    return PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")


def _offered(path: Path, names: set[str]) -> Iterator[str]:
    """Some names of a module, each with what it is."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in names:
                yield f"## {name}"
                yield SIGNATURE.format(ast.unparse(node))
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if (
                name in names
            ):
                # A function with overloads comes several times, and with its docstring at the end.
                several = _documented(tree)[name]
                if node is several[-1]:
                    yield f"## {name}"
                    yield from _inherited(node, tree)
                    yield from _entry(name, several)
            case _:
                pass


def _inherited(node: Documented, tree: ast.Module) -> Iterator[str]:
    """What a class has from one that is not public itself."""
    bases = {ast.unparse(base) for base in node.bases} if isinstance(node, ast.ClassDef) else set()
    for each in tree.body:
        if isinstance(each, ast.ClassDef) and each.name in bases:
            fields = [f"`{ast.unparse(one.target)}`" for one in each.body if isinstance(one, ast.AnnAssign)]
            yield f"Also has {', '.join(fields)}."


def _module(name: str, path: Path) -> Iterator[str]:
    """All public names of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    yield f"## {name}"
    yield from _words(ast.get_docstring(tree) or "")
    for inner, several in _documented(tree).items():
        yield f"### {name}.{inner}"
        yield from _entry(inner, several)


def _documented(tree: ast.Module | ast.ClassDef) -> dict[str, list[Documented]]:
    """Public classes and functions; a function with overloads is several."""
    found: dict[str, list[Documented]] = {}
    for node in tree.body:
        if isinstance(node, Documented) and not node.name.startswith("_"):
            found.setdefault(node.name, []).append(node)
    return found


def _entry(name: str, several: Sequence[Documented]) -> Iterator[str]:
    last = several[-1]
    if isinstance(last, ast.ClassDef):
        yield from _words(ast.get_docstring(last) or "")
        yield from _fields(last)
        for method, found in _documented(last).items():
            yield f"**`{name}.{method}`**"
            yield from _entry(method, found)
        return
    shown = several[:-1] if len(several) > 1 else several
    yield SIGNATURE.format(
        "\n".join(_signature(each) for each in shown if not isinstance(each, ast.ClassDef))
    )
    yield from _words(ast.get_docstring(last) or "")


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    arguments = ast.unparse(function.args)
    arguments = re.sub(r"^self(, )?", "", arguments)
    kind = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
    returns = ast.unparse(function.returns) if function.returns else "None"
    line = f"{kind} {function.name}({arguments}) -> {returns}: ..."
    if any(ast.unparse(each) == "property" for each in function.decorator_list):
        line = f"@property\n{line}"
    return line


def _words(docstring: str) -> Iterator[str]:
    """A docstring as markdown: examples and drawings in blocks, what it raises as a list."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(docstring)):
        if paragraph.startswith(">>>"):
            yield RUN.format(paragraph)
        elif paragraph.startswith("Raises:"):
            entries = re.findall(
                r"^    (\w+): (.*?)(?=^    \w|\Z)", paragraph.partition("\n")[2], re.MULTILINE | re.DOTALL
            )
            yield "Raises:"
            yield "\n".join(f"* `{name}`: {' '.join(why.split())}" for name, why in entries)
        elif paragraph:
            yield paragraph


def _fields(owner: ast.ClassDef) -> Iterator[str]:
    """The fields of a class as a table, with the sentences below them."""
    rows = [
        (name, ast.unparse(node.annotation), _sentence(following))
        for node, following in zip(owner.body, [*owner.body[1:], None], strict=True)
        if isinstance(node, ast.AnnAssign) and not (name := ast.unparse(node.target)).startswith("_")
    ]
    if rows:
        lines = [f"| `{name}` | `{_cell(kind)}` | {_cell(means)} |" for name, kind, means in rows]
        yield "\n".join(["| field | type | means |", "|---|---|---|", *lines])


def _sentence(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return " ".join(words.split())
        case _:
            return ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _arguments() -> Iterator[str]:
    """What can be given by name, for each way to ask."""
    tree = ast.parse((PACKAGE / "client/request.py").read_text("utf-8"))
    found: Mapping[str, ast.ClassDef] = {
        node.name: node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in ARGUMENTS
    }
    for name in ARGUMENTS:
        yield f"## Arguments: {name}"
        yield from _words(ast.get_docstring(found[name]) or "")
        if name != "Waiting":
            yield "Those of `Waiting` can be given too."
        yield from _fields(found[name])


def _errors(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text("utf-8"))
    yield "## errors"
    yield (
        "Each is an `UpcallError` with `code`, `message` and `hint`; those of the daemon are `Refused` and have a `status`. "
        "[Errors](errors.md) has the next step for each code."
    )
    rows = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            codes = [each.value for each in node.body if isinstance(each, ast.Assign)]
            rows.append(f"| `{node.name}` | `{ast.literal_eval(codes[0])}` | {ast.get_docstring(node)} |")
    yield "\n".join(["| class | code | means |", "|---|---|---|", *rows])
