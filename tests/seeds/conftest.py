"""What the conformance tests share with the tests of the parts that they go through."""

from tests.files.conftest import served, yard

__all__ = ["served", "yard"]
