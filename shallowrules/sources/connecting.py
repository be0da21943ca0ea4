"""Databases by URL or by a name in a file of settings; passwords from the environment or a file, and in no message."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from shallowrules.errors import (
    DataError,
    MissingExtraError,
    OptionError,
    OptionName,
    SettingsError,
    refuse_unknown,
    suggestion,
)
from shallowrules.files import SETTINGS_FILE, folder_settings, read_whole
from shallowrules.sources.looking import look

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

__all__ = [
    "check_databases",
    "connect",
    "database_answer",
    "find_url",
    "hide_password",
    "hide_typed_passwords",
    "parse_url",
    "raise_interrupt",
    "show_database",
    "show_url",
    "timeout_statement",
    "writing",
]

DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}
DRIVERS |= {"mariadb": "mariadb+pymysql"}
"""The driver of a URL that names none: those of the extra `db`."""

NO_COMPILING = "SET jit = off"
"""PostgreSQL compiles long expressions such as rules, for seconds: counting 50 clusters of 1,000,000 rows took 3.4 s
with compilation and 0.7 s without."""

READ_ONLY: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("mysql", "mariadb"), ("SET SESSION TRANSACTION READ WRITE", "SET SESSION TRANSACTION READ ONLY")),
    "sqlite": ("PRAGMA query_only = OFF", "PRAGMA query_only = ON"),
}
"""Statements that let the transactions of a session write, and only read."""

TIMEOUTS: Mapping[str, str] = {
    "postgresql": "SET statement_timeout = {milliseconds}",
    "mysql": "SET SESSION max_execution_time = {milliseconds}",
    "mariadb": "SET SESSION max_statement_time = {seconds}",
}
"""Statements that limit how long each later statement of a session may take."""

IN_MEMORY = ":memory:"
"""SQLite's and DuckDB's name for a database without a file."""

OPEN_ELSEWHERE = "a different configuration than existing connections"
"""DuckDB's message for reading a file that the same process has open for writing."""

IN_USE = "Could not set lock on file"
"""Its message for a file that another process writes, or reads while it should be written."""

INTERRUPTS_EVERY = 100_000
"""Instructions of SQLite between two checks whether the user wants to stop."""

MAX_PASSWORD = 65_536
"""Bytes of a file with a password."""

SETTINGS = ("url", "password_env", "password_file")

SHOWN_PARAMETERS = ("charset", "dbname", "host", "hostaddr", "port", "sslmode", "unix_socket", "user")
"""Parameters of a URL that a message may show: any other may be a secret."""

URL_TEXT = re.compile(r"([a-z][a-z0-9+.-]*)://.*", re.IGNORECASE | re.DOTALL)

PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):(?:\S*|[^@\"'\n]*)(?=@)")
"""The text before the last @ of a URL's first word: an unencoded password may hold any character."""

SECRET = re.compile(r"((?:^|(?<=[?&\s]))\w*(?:pass|pwd|secret|token)\w*=)[^&\s]+", re.IGNORECASE)
"""A password as a parameter of a URL, or of a driver."""


def hide_password(text: str) -> str:
    """Return foreign text with three asterisks for anything that looks like the password of a URL or a driver."""
    return SECRET.sub(r"\1***", PASSWORD.sub(r"\1:***", text))


def show_url(url: URL) -> str:
    """Return a URL for a message: without its password, and with only those parameters that hold none."""
    shown = {name: value for name, value in url.query.items() if name.lower() in SHOWN_PARAMETERS}
    return url.set(query=shown).render_as_string(hide_password=True)


def show_database(text: str) -> str:
    """Return the name of a database in messages: its URL as `show_url` has it, or its name in the settings."""
    if text.startswith("@"):
        return text
    try:
        return show_url(_split_url(text))
    except (OptionError, MissingExtraError):
        return _show_beginning(text)


def hide_typed_passwords(message: str, words: Sequence[str]) -> str:
    """Return a message in which the URLs among the words of a command have no passwords."""
    for word in words:
        if (found := URL_TEXT.search(word)) is not None:
            url = found[0]
            folders = [str(folder) for folder in Path(url).parents if "@" in str(folder)]  # of a file to write
            for form in (url, repr(url)[1:-1], str(Path(url)), *folders):
                message = message.replace(form, show_database(url))
    return message


def _show_beginning(text: str) -> str:
    """Return as much of a text that is not a URL as cannot hold a password."""
    found = URL_TEXT.fullmatch(text)
    if found is not None:
        return f"{found[1]}://…"
    return text if re.fullmatch(r"[\w./ -]*", text) else "the text"


def _secrets_of(url: URL) -> list[str]:
    """Return the secrets of a URL, which no message may contain, in each form in which a driver may write them."""
    values = [] if url.password is None else [str(url.password)]
    for name, value in url.query.items():
        if name.lower() not in SHOWN_PARAMETERS:
            values += [value] if isinstance(value, str) else value
    forms = {form for v in values for form in (v, quote(v, safe=""), quote(v), quote_plus(v), repr(v)[1:-1])}
    return sorted(filter(None, forms), key=len, reverse=True)


def find_url(database: str) -> URL:
    """Return the URL of a database.

    Parameters
    ----------
    database : str
        A URL as SQLAlchemy takes it, or ``@name``: the table ``[databases.name]`` of `folder_settings`. It has the
        entry `url`, and `password_env` (an environment variable) or `password_file` where the driver does not find the
        password by itself, as in ``~/.pgpass``.

    Raises
    ------
    OptionError
        If it is not a URL, the name is not in the file, or the environment does not have the password.
    DataError
        If the file of settings or of the password does not exist or cannot be used.
    MissingExtraError
        If SQLAlchemy is not installed.
    """
    if not database.startswith("@"):
        return parse_url(database)
    name = database[1:]
    settings, entry = _entry(name)
    if not all(isinstance(value, str) for value in entry.values()) or "url" not in entry:
        wanted = "url, and password_env or password_file, all of them strings"
        raise SettingsError(f"[databases.{name}] in {settings} must have {wanted}")
    url = parse_url(entry["url"])
    password = _password(name, entry)
    return url if password is None else url.set(password=password)


def parse_url(text: str) -> URL:
    """Return a URL with a driver; OptionError if it is not one."""
    url = _split_url(text)
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


def _split_url(text: str) -> URL:
    """Return the parts of a URL; OptionError if it is not one, or a password in it could be taken for another part."""
    try:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise MissingExtraError("reading from a database", "SQLAlchemy", "db") from None
    if re.fullmatch(r"[^:]*://[^/].*@.*@.*", text, re.DOTALL):
        raise OptionError(
            f"{_show_beginning(text)!r} has more than one @: write %40 for each but the one before the host, or give "
            f"the password in an entry of {SETTINGS_FILE}",
            option="database",
        )
    try:
        return make_url(text)
    except (ArgumentError, ValueError):
        raise OptionError(
            f"{_show_beginning(text)!r} is not a URL of a database: write for example postgresql://user@host/database, "
            f"sqlite:///file.db, or @name for an entry of {SETTINGS_FILE}",
            option="database",
        ) from None


def _entry(name: str) -> tuple[str, Mapping[str, str]]:
    """Return the file of settings and its entry for a database."""
    found = folder_settings()
    if found is None:
        raise DataError(f"@{name}: there is no file {SETTINGS_FILE} in this folder")
    settings, document = found
    databases = check_databases(settings, document.get("databases", {}))
    if name not in databases:
        known = ", ".join(f"@{other}" for other in databases) or "none"
        hint = suggestion(name, databases, mark="@")
        raise OptionError(f"{settings} has no table [databases.{name}]; use one of: {known}{hint}", option="database")
    return settings, databases[name]


def check_databases(settings: str, databases: Any) -> Mapping[str, Mapping[str, str]]:
    """Return the entries for databases of a file of settings; SettingsError for anything but tables of known keys."""
    if not isinstance(databases, dict) or not all(isinstance(entry, dict) for entry in databases.values()):
        raise SettingsError(f"{settings} must have a table [databases.NAME] for each database")
    for each, entry in databases.items():
        refuse_unknown(entry, SETTINGS, f"{settings}: key of [databases.{each}]")
    return databases


def _password(name: str, entry: Mapping[str, str]) -> str | None:
    if variable := entry.get("password_env"):
        if variable not in os.environ:
            raise OptionError(f"@{name}: the environment variable {variable}, its password, is not set")
        return os.environ[variable]
    if file := entry.get("password_file"):
        try:
            return read_whole(Path(file).expanduser(), MAX_PASSWORD).decode("utf-8").rstrip("\r\n")
        except (OSError, ValueError, RuntimeError) as error:  # also for an unknown home folder
            raise DataError(f"@{name}: its password cannot be read from {file}: {error}") from error
    return None


@contextmanager
def connect(url: URL, *, read_only: bool = False, timeout: float | None = None) -> Iterator[Connection]:
    """Connect to a database, whose errors are DataErrors without the password.

    Statements are taken as they are: ``%s`` and ``:name`` in a text are not parameters.

    Parameters
    ----------
    url : URL
    read_only : bool
        Whether the database refuses what writes: PostgreSQL, MySQL, MariaDB, SQLite and DuckDB do. `writing` lifts it.
    timeout : float, optional
        Seconds that a statement may take; OptionError where the database has no setting for that.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    shown, backend = show_url(url), url.get_backend_name()
    if timeout is not None and backend not in TIMEOUTS:
        raise OptionError(
            OptionName("timeout"),
            f": a statement of {backend} cannot be limited in time; omit it, and stop the work with Ctrl-C",
        )
    if backend == "sqlite" and url.database and look(url.database) is None:
        missing = FileNotFoundError(url.database)
        raise DataError(f"{shown}: there is no file {url.database}") from missing  # SQLite would create it
    options: dict[str, Any] = {}
    if read_only and backend == "duckdb" and url.database not in (None, "", IN_MEMORY):
        options["connect_args"] = {"read_only": True}
    try:
        engine = create_engine(url, poolclass=NullPool, **options)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{shown}", str(error.name), "db") from None
    except (ArgumentError, NoSuchModuleError) as error:
        raise DataError(f"{shown}: {database_answer(error, url)}") from None
    try:
        try:
            opened = engine.connect()
        except (TypeError, ValueError, UnicodeError) as error:  # a driver that does not accept something in the URL
            raise DataError(f"{shown}: {database_answer(error, url)}") from None
        with opened.execution_options(no_parameters=True) as connection:
            if connection.dialect.name == "postgresql" and (connection.dialect.server_version_info or ()) >= (11,):
                connection.exec_driver_sql(NO_COMPILING)
            if timeout is not None:
                connection.exec_driver_sql(timeout_statement(connection, timeout))
            connection.commit()
            if read_only:
                _set_read_only(connection, True)
            if connection.dialect.name == "sqlite":
                # A statement is one call of its library, in which Python sees no signal.
                driver: Any = connection.connection.driver_connection
                driver.set_progress_handler(lambda: 0, INTERRUPTS_EVERY)
            yield connection
    except SQLAlchemyError as error:
        raise_interrupt(error)
        answer = database_answer(error, url)
        if OPEN_ELSEWHERE in answer:
            answer = "this Python process has the file open for writing; close that connection first"
        elif IN_USE in answer:
            answer += ". Wait until that has ended, and run it again"
        raise DataError(f"{shown}: {answer}") from None  # a cause may show the password
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error  # DuckDB turned the interrupt into this error
    finally:
        engine.dispose()


def timeout_statement(connection: Connection, seconds: float) -> str:
    """Return the statement that limits how long each later one may take."""
    is_mariadb = getattr(connection.dialect, "is_mariadb", False)
    statement = TIMEOUTS["mariadb" if is_mariadb else connection.dialect.name]
    return statement.format(seconds=seconds, milliseconds=math.ceil(seconds * 1000))


@contextmanager
def writing(connection: Connection) -> Iterator[None]:
    """Let a read-only connection write, until the end of the context; uncommitted changes are then undone."""
    _set_read_only(connection, False)
    try:
        yield
    finally:
        if not connection.invalidated:
            _set_read_only(connection, True)


def _set_read_only(connection: Connection, read_only: bool) -> None:
    connection.rollback()
    name = connection.dialect.name
    if name == "postgresql":
        connection.execution_options(postgresql_readonly=read_only)  # of each transaction, as it begins
    elif name in READ_ONLY:
        connection.exec_driver_sql(READ_ONLY[name][read_only])
        connection.commit()


def raise_interrupt(error: Any) -> None:
    """Raise KeyboardInterrupt for a statement that Ctrl-C has ended, which SQLite reports as an error of its own."""
    if getattr(getattr(error, "orig", None), "sqlite_errorname", None) == "SQLITE_INTERRUPT":
        raise KeyboardInterrupt from None


def database_answer(error: Any, url: URL) -> str:
    """Return the first line of a database's error message, without the password."""
    cause = getattr(error, "orig", None) or error
    text = str(cause.args[-1] if cause.args else cause).strip() or type(cause).__name__
    for secret in _secrets_of(url):
        text = text.replace(secret, "***")
    return hide_password(" ".join(text.split()))
