"""Translates errors of PostgreSQL and of its connections into `StorageError`: callers never see a psycopg error."""

from psycopg import Error, OperationalError

from upcall.domain.errors import StorageError, StorageFull

READ_ONLY = "25006"
# The session was ended, by an administrator, a shutdown, a crash or a timeout; or its server only reads by now.
_SESSION_OVER = {"57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", READ_ONLY}
_TOO_MANY = (
    "too many clients",
    "too many connections",
    "connection slots are reserved",
    "no more connections",
)


def is_lost(error: BaseException) -> bool:
    """Whether another connection may succeed where this one failed."""
    if not isinstance(error, Error):
        return False
    state = error.sqlstate
    if state is None:
        return isinstance(error, OperationalError)
    return state.startswith("08") or state in _SESSION_OVER


def is_hopeless(error: BaseException) -> bool:
    """Whether another write would now wait as long and fail as well."""
    return isinstance(error, Error) and error.sqlstate in {"55P03", "57014"}


def storage_error(error: BaseException, where: str) -> StorageError:
    """The error to raise for a failure of the database at `where`."""
    if isinstance(error, StorageError):
        return error
    match error.sqlstate if isinstance(error, Error) else None:
        case "53100":
            return StorageFull(
                f"there is no room left for the database {where}; nothing was changed",
                hint="free some space on its server and try again",
            )
        case "53300":
            return too_many(where)
        case "55P03":
            return StorageError(
                f"another program keeps the database {where} locked",
                hint="look for long transactions in pg_stat_activity and try again",
            )
        case "57014":
            return StorageError(
                f"the database {where} took too long and stopped: {said(error)}",
                hint="raise its statement_timeout for Upcall's role, or try again",
            )
        case "42501":
            return StorageError(
                f"the database {where} refuses: {said(error)}",
                hint="make Upcall's role the owner of the schema upcall, or of the database",
            )
        case state if state == READ_ONLY:
            return StorageError(
                f"the database {where} can only be read",
                hint="name the primary, or all servers with ?target_session_attrs=read-write",
            )
        case _ if is_lost(error):
            return StorageError(f"the connection to the database {where} was lost: {said(error)}")
        case _:
            return StorageError(f"the database {where} failed: {said(error)}")


def unreachable(error: BaseException, where: str) -> StorageError:
    """The error to raise when no connection can be made; libpq tells the reason only as a text."""
    if any(word in str(error) for word in _TOO_MANY):
        return too_many(where)
    return StorageError(
        f"cannot reach the database {where}: {said(error)}",
        hint="see that the server runs, and that the address, the role and its password are right",
    )


def too_many(where: str) -> StorageError:
    """The error to raise when the server takes no more connections."""
    return StorageError(
        f"the database {where} takes no more connections",
        hint="raise max_connections or the role's limit, or put a pooler before it; a daemon needs up to 6",
    )


def said(error: BaseException) -> str:
    """The reason in one line; of several attempts the last."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    attempts = [line.removeprefix("- ") for line in lines if line.startswith("- ")]
    return (attempts or lines[:1] or [type(error).__name__])[-1]
