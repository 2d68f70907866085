"""Shipped suites are not test modules, so pytest is told to explain their assertions too."""

import pytest

pytest.register_assert_rewrite(
    "upcall.testing.store_contract",
    "upcall.testing.store_harness",
    "upcall.testing.store_ledger",
    "upcall.testing.store_reading",
    "upcall.testing.store_holding",
    "upcall.testing.store_searching",
    "upcall.testing.store_several",
)
