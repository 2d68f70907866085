"""Moving an installation into PostgreSQL with the command: questions, history and credentials go along."""

import json
from pathlib import Path

from tests.cli.conftest import Program
from tests.postgres_server import PostgresServer


def test_an_installation_moves_and_goes_on_with_everything_it_had(
    upcall: Program, postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.database(tmp_path)
    answered, still_open = upcall.parked("Which cache?"), upcall.parked("Which queue?")
    assert upcall("answer", answered, "Redis").returncode == 0
    refused = upcall("migrate", "--to", address)
    assert refused.returncode == 1
    assert "upcall down" in refused.stderr
    upcall("down")
    before = (upcall.home / "upcall.db").read_bytes()

    told = upcall.json("migrate", "--to", address)

    assert (told["inquiries"], told["tokens"], told["already"]) == (2, 2, False)
    assert (upcall.home / "upcall.db").read_bytes() == before
    again = upcall("migrate", "--to", address)
    assert again.stdout.startswith("Everything was there already: 2 inquiries, ")
    upcall.environment["UPCALL_DATABASE"] = address
    assert [inquiry["ref"] for inquiry in upcall.json("status")["waiting"]] == [still_open]
    assert upcall.json("show", answered)["state"] == "answered"
    assert upcall("answer", still_open, "NATS").returncode == 0
    # The home's own credentials are the same two as before.
    assert len(upcall.json("tokens", "list")["items"]) == 2


def test_what_cannot_be_moved_or_moved_to_is_said(upcall: Program, tmp_path: Path) -> None:
    nowhere = "postgresql://ana:sesame@127.0.0.1:1/upcall"
    missing = upcall("migrate", "--to", nowhere)
    assert missing.returncode == 1
    assert "--from" in missing.stderr
    upcall("status")
    upcall("down")
    unreachable = upcall("migrate", "--to", nowhere)
    assert unreachable.returncode == 1
    assert "cannot reach the database" in unreachable.stderr
    assert "sesame" not in unreachable.stderr
    file = upcall("migrate", "--to", str(tmp_path / "other.db"))
    assert "not an address of a PostgreSQL database" in file.stderr
    assert json.loads(upcall("status", "--json").stdout)["waiting"] == []
