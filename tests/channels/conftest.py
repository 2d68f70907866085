"""The shipped suite's assertions, readable when they fail."""

import pytest

pytest.register_assert_rewrite("upcall.testing.channel_contract", "upcall.testing.channel_house")
