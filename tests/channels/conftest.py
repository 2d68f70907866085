"""The shipped suite's assertions, readable when they fail; and the servers that channels are tried on."""

from collections.abc import Iterator

import pytest

from tests.channels import mail_server
from tests.channels.synapse import Synapse, installed
from tests.conftest import require

pytest.register_assert_rewrite("upcall.testing.channel_contract", "upcall.testing.channel_house")


@pytest.fixture(scope="session")
def dovecot() -> Iterator[mail_server.Dovecot]:
    """A mail server for the whole run; every test has mailboxes of its own."""
    require(mail_server.program(), "Dovecot")
    with mail_server.running() as running:
        yield running


def a_synapse(*, limited: bool = False) -> Iterator[Synapse]:
    found = installed()
    require(found, "Synapse (make .venv/synapse/.installed)")
    assert found is not None
    server = Synapse(found, limited=limited)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def synapse() -> Iterator[Synapse]:
    """A Matrix homeserver without rate limits, for the whole run."""
    yield from a_synapse()


@pytest.fixture
def limited_synapse() -> Iterator[Synapse]:
    """A Matrix homeserver with its default rate limits."""
    yield from a_synapse(limited=True)
