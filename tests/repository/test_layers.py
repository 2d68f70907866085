"""The pages that show the layers show those that import-linter enforces."""

from pathlib import Path

import pytest

from docs import layers


@pytest.mark.promise("house/2")
@pytest.mark.parametrize("page", layers.PAGES, ids=lambda page: page.name)
def test_a_page_shows_the_layers_of_the_project(page: Path) -> None:
    assert layers.shown(page) == layers.picture(), "run: python -m docs.layers"


@pytest.mark.promise("house/1")
def test_every_package_says_what_it_is_for(root: Path) -> None:
    silent = [
        str(sign.parent.relative_to(root))
        for sign in sorted((root / "src/upcall").rglob("__init__.py"))
        if not sign.read_text("utf-8").startswith('"""')
    ]
    assert silent == []
