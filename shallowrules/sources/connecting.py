"""Databases by URL or by a name in a file of settings; passwords from the environment or a file, and in no message."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallowrules.errors import DataError, MissingExtraError, OptionError

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

__all__ = ["SETTINGS_FILE", "connect", "database_answer", "find_url", "hide_password", "parse_url", "show_url"]

SETTINGS_FILE = "shallowrules.toml"
"""Where ``@name`` is looked up, in the current folder."""

DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg", "mysql": "mysql+pymysql"}
DRIVERS |= {"mariadb": "mariadb+pymysql"}
"""The driver of a URL that names none: those of the extra `db`."""

SETTINGS = ("url", "password_env", "password_file")

PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):(?:\S*|[^@\"'\n]*)(?=@)")
"""What stands before the last @ of a URL's first word: a password that nobody encoded may hold any character."""

SECRET = re.compile(r"((?:^|(?<=[?&\s]))\w*(?:pass|pwd|secret|token)\w*=)[^&\s]+", re.IGNORECASE)
"""A password as a parameter of a URL, or of a driver."""


def hide_password(text: str) -> str:
    """Return a text with three asterisks in place of the password of each URL in it."""
    return SECRET.sub(r"\1***", PASSWORD.sub(r"\1:***", text))


def show_url(url: URL) -> str:
    """Return a URL without its password, for a message."""
    return hide_password(url.render_as_string(hide_password=True))


def find_url(database: str, settings: str | Path = SETTINGS_FILE) -> URL:
    """Return the URL of a database.

    Parameters
    ----------
    database : str
        A URL as SQLAlchemy takes it, or ``@name``: the table ``[databases.name]`` of the settings. It has the entry
        `url`, and `password_env` (an environment variable) or `password_file` where the driver does not find the
        password by itself, as in ``~/.pgpass``.
    settings : str or Path
        The file of settings.

    Raises
    ------
    OptionError
        If it is no URL, the file or the name is not there, or the password is in neither place.
    MissingExtraError
        If SQLAlchemy is not installed.
    """
    if not database.startswith("@"):
        return parse_url(database)
    name = database[1:]
    entry = _entry(name, Path(settings))
    unknown = [key for key in entry if key not in SETTINGS]
    if unknown or not all(isinstance(value, str) for value in entry.values()) or "url" not in entry:
        wanted = "url, and password_env or password_file, all of them texts"
        raise OptionError(f"[databases.{name}] in {settings} must have {wanted}")
    url = parse_url(entry["url"])
    password = _password(name, entry)
    return url if password is None else url.set(password=password)


def parse_url(text: str) -> URL:
    """Return a URL with a driver; OptionError if it is none."""
    try:
        from sqlalchemy import make_url
        from sqlalchemy.exc import ArgumentError
    except ImportError:
        raise MissingExtraError("reading from a database", "SQLAlchemy", "db") from None
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise OptionError(
            f"{hide_password(text)!r} is no URL of a database: write for example postgresql://user@host/database, "
            f"sqlite:///file.db, or @name for an entry of {SETTINGS_FILE}",
            option="database",
        ) from None
    return url.set(drivername=DRIVERS.get(url.drivername, url.drivername))


def _entry(name: str, settings: Path) -> Mapping[str, str]:
    try:
        document = tomllib.loads(settings.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise OptionError(f"@{name}: there is no file {settings} in this folder", option="database") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OptionError(f"{settings} cannot be read: {error}", option="database") from error
    databases = document.get("databases")
    entry = databases.get(name) if isinstance(databases, dict) else None
    if not isinstance(entry, dict):
        known = ", ".join(f"@{other}" for other in databases) if isinstance(databases, dict) else "none"
        raise OptionError(f"{settings} has no table [databases.{name}]; known are: {known}", option="database")
    return entry


def _password(name: str, entry: Mapping[str, str]) -> str | None:
    if variable := entry.get("password_env"):
        if variable not in os.environ:
            raise OptionError(f"@{name}: the environment variable {variable}, its password, is not set")
        return os.environ[variable]
    if file := entry.get("password_file"):
        try:
            return Path(file).expanduser().read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise OptionError(f"@{name}: its password cannot be read from {file}: {error}") from error
    return None


@contextmanager
def connect(url: URL) -> Iterator[Connection]:
    """Connect to a database, whose errors are DataErrors without the password.

    Statements are taken as they are: ``%s`` and ``:name`` in a text are no parameters.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    shown = show_url(url)
    if url.get_backend_name() == "sqlite" and url.database and not os.path.exists(url.database):
        raise DataError(f"{shown}: there is no file {url.database}")  # SQLite would make it
    try:
        engine = create_engine(url, poolclass=NullPool)
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{shown}", str(error.name), "db") from None
    except (ArgumentError, NoSuchModuleError) as error:
        raise DataError(f"{shown}: {database_answer(error, url)}") from None
    try:
        with engine.connect().execution_options(no_parameters=True) as connection:
            yield connection
    except SQLAlchemyError as error:
        raise DataError(f"{shown}: {database_answer(error, url)}") from None  # a cause may show the password
    finally:
        engine.dispose()


def database_answer(error: Any, url: URL) -> str:
    """Return what a database complains of: its first line, without the password."""
    cause = getattr(error, "orig", None) or error
    text = str(cause.args[-1] if cause.args else cause).strip() or type(cause).__name__
    if url.password:
        text = text.replace(str(url.password), "***")
    return hide_password(" ".join(text.split()))
