"""The statements of a writing transaction: what it reads under its lock, and what it writes before its commit."""

from typing import Any

from upcall.ports.store import Event
from upcall.stores import codec
from upcall.stores.postgres.connection import Connection, Statement
from upcall.stores.postgres.group import Group
from upcall.stores.postgres.rows import columns, encode, keep

CHANNEL = "upcall"
PAUSED = 5
"""Seconds after which the server ends the transaction of a daemon that was stopped in the middle of it."""
LOCKED = 10
"""Seconds to wait for a lock that another session holds."""

BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
COUNTER = "SELECT last_seq, last_number FROM upcall.counter FOR UPDATE"
"""Every writer takes this lock first."""

# The same, under limits that hold for this transaction only: behind a pooler the session is not ours. The time to wait
# for the lock is set before it is taken; the time of the whole transaction begins with it. Being idle is not enough
# to be ended by: a daemon that is halted between two statements of one round trip keeps the server waiting for the rest
# of them. Servers before 17 cannot do it. A server that is told to acknowledge before it has written would break our
# promise; stricter settings of the administrator stay. What follows looks rows up by their keys, few or many: one plan
# for each statement serves, made once, if only it never reads whole tables because they happened to be small.
LOCK = """
    WITH limits AS MATERIALIZED (
        SELECT set_config('lock_timeout', %s, TRUE),
               set_config('idle_in_transaction_session_timeout', %s, TRUE),
               set_config('synchronous_commit',
                          CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                          ELSE current_setting('synchronous_commit') END, TRUE),
               set_config('plan_cache_mode', 'force_generic_plan', TRUE),
               set_config('enable_seqscan', 'off', TRUE)
    ), counter AS MATERIALIZED (
        SELECT last_seq, last_number FROM upcall.counter, limits FOR UPDATE OF counter
    )
    SELECT last_seq, last_number,
           CASE WHEN current_setting('transaction_timeout', TRUE) IS NOT NULL
           THEN set_config('transaction_timeout', %s, TRUE) END
    FROM counter
"""

# What is put into these statements is a constant of ours; values are always bound.
ASKED_BEFORE = f"""
    SELECT earlier.* FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])
        AS wanted (session, purpose, request_key, agent)
    CROSS JOIN LATERAL (
        SELECT number, {codec.COLUMNS} FROM upcall.inquiry
        WHERE session = wanted.session AND purpose = wanted.purpose
          AND request_key = wanted.request_key AND agent = wanted.agent
        ORDER BY number DESC LIMIT 1
    ) AS earlier
"""  # noqa: S608 - our own constant; values are bound
# A ref is taken by an open inquiry, and by one closed not long enough ago.
TAKEN = """
    SELECT ref FROM upcall.inquiry WHERE ref = ANY(%s::text[]) AND (closed_at IS NULL OR closed_at > %s)
"""
KNOWN_TOKENS = "SELECT name FROM upcall.token WHERE name = ANY(%s::text[])"

_INSERT = f"""
    INSERT INTO upcall.inquiry (number, {codec.COLUMNS})
    SELECT * FROM unnest(
        %s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[],
        %s::float8[], %s::float8[], %s::float8[], %s::bigint[], %s::text[], %s::text[]
    )
"""  # noqa: S608 - our own constant; values are bound
# What identifies an inquiry (id, ref, kind, origin) and what it asks never change: only the rest is written again.
_UPDATE = """
    UPDATE upcall.inquiry AS old
    SET state = new.state, expires_at = new.expires_at, closed_at = new.closed_at, outcome = new.outcome
    FROM unnest(%s::bigint[], %s::text[], %s::float8[], %s::float8[], %s::text[])
        AS new (number, state, expires_at, closed_at, outcome)
    WHERE old.number = new.number
"""
# An answer that was undone may have left files where the next one has its own.
_ATTACH = """
    INSERT INTO upcall.attachment (inquiry, position, content) VALUES (%s, %s, %s)
    ON CONFLICT (inquiry, position) DO UPDATE SET content = EXCLUDED.content
"""
_APPEND = """
    INSERT INTO upcall.event (seq, type, inquiry, at, data)
    SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::float8[], %s::text[])
"""
_ISSUE = """
    INSERT INTO upcall.token (name, role, digest, created_at) VALUES (%s, %s, %s, %s)
    ON CONFLICT (name) DO UPDATE
    SET role = EXCLUDED.role, digest = EXCLUDED.digest, created_at = EXCLUDED.created_at
"""
_REVOKE = "DELETE FROM upcall.token WHERE name = %s"
_SIGN = """
    INSERT INTO upcall.writer (name, last, at) VALUES (%s, %s, now())
    ON CONFLICT (name) DO UPDATE SET last = EXCLUDED.last, at = EXCLUDED.at
"""
_COUNT_SIGN_AND_TELL = f"""
    WITH signed AS ({_SIGN}), counted AS (UPDATE upcall.counter SET last_seq = %s, last_number = %s)
    SELECT pg_notify('{CHANNEL}', %s)
"""  # noqa: S608 - our own constants; values are bound
SIGNED = "SELECT last FROM upcall.writer WHERE name = %s"
SIGN_OFF = "DELETE FROM upcall.writer WHERE name = %s"


def locked() -> Statement:
    """Takes the lock; finds the numbers of the latest event and the latest inquiry."""
    return LOCK, (f"{LOCKED}s", f"{PAUSED}s", f"{PAUSED}s")


async def write(connection: Connection, group: Group, writer: str, number: int) -> None:
    """Send everything that a group writes, its notification and its COMMIT included, in one go.

    The server notifies the listeners of the number of the last event right after the commit. The transaction is signed with
    the writer's name and a number, by which it is recognised later.
    """
    signature = (writer, number)
    last: Statement = (_SIGN, signature)
    if group.log:
        last = _COUNT_SIGN_AND_TELL, (*signature, group.last_seq, group.last_number, str(group.last_seq))
    await connection.in_one_go([*_writes(group), last, ("COMMIT", ())])


def _writes(group: Group) -> list[Statement]:
    made: list[Statement] = []
    if group.added:
        rows = [[number, *encode(*each)] for number, each in group.added.items()]
        made.append((_INSERT, columns(rows)))
    if group.changed:
        changes = [(number, *codec.state_columns(after)) for number, after in group.changed.items()]
        made.append((_UPDATE, columns(changes)))
    for name, position, content in group.blobs:
        made.append((_ATTACH, (keep(name), position, content)))
    for name, token in group.tokens.items():
        if token is None:
            made.append((_REVOKE, (keep(name),)))
        else:
            made.append((_ISSUE, (keep(name), token.role.value, token.digest, token.created_at)))
    made += group.ledger.statements()
    if group.log:
        made.append((_APPEND, columns([_event(entry.event, entry.data) for entry in group.log])))
    return made


def _event(event: Event, data: str) -> tuple[Any, ...]:
    return event.seq, event.type, None if event.inquiry is None else keep(event.inquiry), event.at, data
