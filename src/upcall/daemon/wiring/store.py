"""Opens the store of the settings."""

from pathlib import Path
from urllib.parse import urlsplit

from upcall.config.settings import Config
from upcall.domain.errors import InvalidSetting
from upcall.home.files import Home
from upcall.home.program import installing
from upcall.ports.store import Store
from upcall.stores.sqlite.lost_database import refuse_lost, remember
from upcall.stores.sqlite.store import SqliteStore


def is_postgres(address: str) -> bool:
    """Whether a database's address is one of PostgreSQL."""
    return urlsplit(address).scheme in {"postgresql", "postgres"}


def database_path(home: Home, config: Config) -> Path:
    """The path of the database; a relative name counts from the home.

    Raises:
        InvalidSetting: if the address is of a kind that this version does not speak.
    """
    address = config.database
    if not address:
        return home.database_file
    if is_postgres(address):
        raise InvalidSetting(
            "database: a PostgreSQL database is not a file",
            hint="back it up with pg_dump and restore it with pg_restore, or as its server's other databases are",
        )
    parts = urlsplit(address)
    if parts.scheme == "sqlite" and not parts.netloc:
        # As everywhere: three slashes and a relative name, or four and an absolute one.
        return home.path / parts.path.removeprefix("/")
    if "://" not in address:
        return home.path / Path(address).expanduser()
    raise InvalidSetting(
        f"database: {parts.scheme!r} is not a store of this version",
        hint="use a file name, sqlite:////absolute/path, or postgresql://role@host/name",
    )


async def open_store(home: Home, config: Config) -> Store:
    """Open the store of the settings.

    Raises:
        InvalidSetting: if they name none, or something that it cannot do.
        StorageError: if it cannot be opened.
    """
    if not is_postgres(config.database):
        path = database_path(home, config)
        refuse_lost(path, home.known_databases_file)
        store = await SqliteStore.open(path)
        remember(path, home.known_databases_file)
        # This daemon has the home's lock, so the holder of any lease is gone.
        await store.end_leases()
        return store
    try:
        # The driver is an extra, and loading it takes a quarter of a second.
        from upcall.stores.postgres.store import PostgresStore  # noqa: PLC0415
    except ImportError as error:
        raise InvalidSetting(
            f"database: PostgreSQL needs the driver psycopg, which cannot be loaded: {str(error).splitlines()[0]}",
            hint=installing("postgres"),
        ) from error
    return await PostgresStore.open(config.database, direct=config.database_direct)
