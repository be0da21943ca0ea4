"""The options of exporters on the command line, made from their dataclasses: no option is known here by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from shallowrules.cli.advice import listed
from shallowrules.cli.escaping import shell_word
from shallowrules.cli.options.defaults import exporter_defaults, type_in_words
from shallowrules.cli.options.shared import split_list, split_pair, write_options
from shallowrules.errors import ExportError, OptionError, OptionName, PluginError, SettingsError

if TYPE_CHECKING:
    from shallowrules.exporters import Exporter
    from shallowrules.exporters.options import OptionSpec

__all__ = ["ExporterChoice", "ExporterCommand", "prefix_of"]

GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP)
"""The sources of a user's value: the command line, or a file of settings."""

METAVARS = {"text": "TEXT", "integer": "N", "float": "NUMBER", "path": "FILE", "choice": None, "flag": None}


@dataclass
class ExporterChoice:
    """An exporter that a command uses, and the options that the user gave it.

    By field, `given` has the values, `typed` the spelling that the user chose, `spellings` the one to recommend and
    `by_file` the place of a value in the folder's file of defaults.
    `required` says that the user named it, and not the command.
    """

    exporter: type[Exporter]
    prefix: str = ""
    required: bool = True
    given: dict[str, Any] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)
    by_file: dict[str, str] = field(default_factory=dict)
    options: list[click.Option] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The exporter's name."""
        return self.exporter.name

    @property
    def specs(self) -> Sequence[OptionSpec]:
        """The descriptions of the exporter's options."""
        from shallowrules.exporters.options import describe_options

        return describe_options(self.exporter.options)

    @property
    def paths(self) -> list[str]:
        """The files that the user named in options."""
        values = (item for value in self.given.values() for item in (value if isinstance(value, tuple) else (value,)))
        return [str(value) for value in values if isinstance(value, Path)]

    @property
    def facts(self) -> set[str]:
        """The facts of a run that options of the exporter use as defaults."""
        sources = (spec.command_line.default_from for spec in self.specs)
        return {source for source in sources if source is not None}

    def offer(self, arguments: Sequence[str], taken: Iterable[str], unprefixed: Iterable[str]) -> None:
        """Make the options. Where the command has an option of the same spelling, the exporter's name comes before it.

        Parameters
        ----------
        arguments : sequence of str
            As the user typed them.
        taken : iterable of str
            Spellings that the command has for itself.
        unprefixed : iterable of str
            Names of options that are to be offered without the prefix too.

        Raises
        ------
        PluginError
            If the command has an option of that longer spelling as well.
        """
        typed = [word.partition("=")[0] for word in arguments]
        for spec in self.specs:
            names = [f"{self.prefix}{spec.spelling}"]
            if self.prefix and spec.name in unprefixed:
                names.append(spec.spelling)
            names = list(dict.fromkeys(f"{self.name}-{name}" if f"--{name}" in taken else name for name in names))
            clash = [name for name in names if f"--{name}" in taken]
            if clash:
                raise PluginError(
                    f"option --{clash[0]} of exporter {self.name!r} already exists as an option of the command"
                )
            spelt = [f"--{name}" for name in names] + [f"--no-{name}" for name in names if spec.kind == "flag"]
            self.spellings[spec.name] = f"--{names[-1]}"
            used = [word for word in typed if word in spelt]
            if used:
                self.typed[spec.name] = used[-1]
            self.options.append(self._option(spec, names))

    def _option(self, spec: OptionSpec, names: Sequence[str]) -> click.Option:
        from shallowrules.exporters.options import DEFAULTS_OF_FACTS

        def keep(context: click.Context, parameter: click.Parameter, value: Any) -> None:
            if context.get_parameter_source(str(parameter.name)) in GIVEN:
                self.given[spec.name] = _collect(spec, value, context, parameter)

        flag = spec.kind == "flag"
        declared = [f"--{name}/--no-{name}" if flag else f"--{name}" for name in names]
        source = spec.command_line.default_from
        mapping = "COLUMN=TYPE" if source == "types" else "OLD=NEW"
        metavar = mapping if spec.shape == "mapping" else METAVARS[spec.kind]
        if spec.command_line.listed:
            metavar = "A,B,…"
        default = _shown_default(spec, names[0])
        if source is not None and self.prefix:
            default = DEFAULTS_OF_FACTS[source].format(default)
        texts = [
            spec.help,
            "May be repeated." if spec.shape != "one" else "",
            f"[default: {default}]" if default else "",
        ]
        return click.Option(
            [*declared, _parameter_name(self.name, spec.name)],
            type=None if flag else click.STRING if spec.shape == "mapping" else _type(spec),
            default=None,
            multiple=spec.shape != "one",
            callback=keep,
            expose_value=False,
            metavar=metavar,
            help=" ".join(filter(None, texts)),
        )

    def values(self, table: str | None, shorten: Callable[[Path], str]) -> dict[str, Any]:
        """Return all options, ready for JSON; `option_defaults` reads them. One that follows from a fact is None.

        Parameters
        ----------
        table : str or None
            The table's name by ``run --table``.
        shorten : callable
            Returns the name for a file.
        """

        def written(value: Any) -> Any:
            if isinstance(value, Mapping):
                return {name: written(each) for name, each in value.items()}
            if isinstance(value, tuple):
                return [written(each) for each in value]
            return shorten(value) if isinstance(value, Path) else value

        found: dict[str, Any] = {}
        for spec in self.specs:
            source = spec.command_line.default_from
            default = spec.default if source is None else table if source == "table" else None
            found[spec.name] = written(self.given.get(spec.name, default))
        return found

    def option_defaults(
        self, values: Mapping[str, Any], locate: Callable[[str, str], str] = lambda option, path: path
    ) -> dict[str, Any]:
        """Return defaults for click, by its names for the options, from what `values` returned.

        `locate` is the inverse of `shorten`; its first argument is an option that the user did not type.

        Raises
        ------
        OptionError
            If one is not an option, or has the wrong type.
        SettingsError
            If a value of the folder's file has the wrong type, or is not one of the option's choices.
        """
        from shallowrules.exporters.base import check_option_names

        check_option_names(self.exporter, values)
        found: dict[str, Any] = {}
        for spec in self.specs:
            if (value := values.get(spec.name)) is not None:
                if spec.name in self.by_file:
                    _check_value(spec, value, self.by_file[spec.name])
                if not _is_of(spec, value):
                    raise OptionError(f"option {spec.name!r} of exporter {self.name!r} cannot be {value!r}")
                if spec.kind != "path" or spec.name not in self.typed:
                    place = partial(locate, self.spellings[spec.name])
                    found[_parameter_name(self.name, spec.name)] = _as_given(spec, value, place)
        return found

    def following(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options that follow from facts."""
        sources = {spec.name: spec.command_line.default_from for spec in self.specs}
        return {name: facts[source] for name, source in sources.items() if source is not None and source in facts}

    def given_for(self, fact: str) -> Any:
        """Return the user's value for the option that would follow from a fact; None if there is none."""
        names = (spec.name for spec in self.specs if spec.command_line.default_from == fact)
        return next((self.given[name] for name in names if name in self.given), None)

    def settings(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options for the exporter: those given, and those that follow from the `facts` of a run."""
        known = dict(facts)
        if {spec.command_line.default_from for spec in self.specs if spec.name in self.given} & {"table", "dialect"}:
            known.pop("types", None)  # they belong to another table
        return {**self.following(known), **self.given}

    @contextmanager
    def as_typed(self) -> Iterator[None]:
        """Word the exporter's refusals in terms of the options that the user typed, or could type."""
        try:
            yield
        except OptionError as error:
            if (place := self._place_of(error)) is not None:
                raise SettingsError(place) from error
            message = error.worded(self._spell)
            named = {part.name for part in error.parts if isinstance(part, OptionName)}
            if error.option in self.spellings and error.option not in named:
                message = f"{self._spell(OptionName(str(error.option)))}: {message}"
            raise click.UsageError(message) from error
        except ExportError as error:
            raise click.ClickException(error.worded(self._spell)) from error

    def _spell(self, option: OptionName) -> str:
        """Return an option as the user typed it, or could type it."""
        spelt = self.typed.get(option.name, self.spellings.get(option.name, option.name))
        return spelt if option.value is None else f"{spelt} {shell_word(str(option.value))}"

    def _place_of(self, error: OptionError) -> str | None:
        """Return the fault of a value in the folder's file, after its place; None if the user typed it."""
        where = self.by_file.get(str(error.option))
        if where is None or error.option in self.typed:
            return None
        said = error.worded(self._spell)
        spelt = self.spellings[str(error.option)]
        return f"{where}{said.removeprefix(spelt)}" if said.startswith(spelt) else f"{where}: {said}"


class ExporterCommand(click.Command):
    """A command whose options are its own and those of the exporters that its arguments name.

    Parameters
    ----------
    choose : callable
        Given the command, its context and its arguments, returns the exporters to offer the options of.
    usual : sequence of str
        Exporters whose options a user may expect though they are not chosen: an error names them.
    """

    def __init__(
        self,
        *arguments: Any,
        choose: Callable[[ExporterCommand, click.Context, list[str]], list[ExporterChoice]],
        usual: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        super().__init__(*arguments, **settings)
        self.choose = choose
        self.usual = usual

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Find the exporters, then parse everything."""
        typed = list(args)
        ctx.obj = []
        chosen = self.choose(self, ctx, typed)
        self.offer(ctx, chosen, typed)
        try:
            ctx.default_map = {**(ctx.default_map or {}), **exporter_defaults(ctx, chosen)}
        except SettingsError:
            if not {*ctx.help_option_names} & {*typed}:  # a fault does not keep the help
                raise
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            said = (error.format_message(), self.name_holder(ctx, error.option_name), self.list_options(ctx))
            raise click.UsageError(" ".join(filter(None, said)), ctx) from error

    def offer(self, ctx: click.Context, chosen: list[ExporterChoice], arguments: Sequence[str]) -> None:
        """Give the context the options of the exporters."""
        taken = {spelling for parameter in super().get_params(ctx) for spelling in parameter.opts}
        unprefixed = _unprefixed(chosen, taken)
        for choice in chosen:
            choice.offer(arguments, taken, unprefixed.get(choice.name, ()))
            taken |= {spelling for option in choice.options for spelling in (*option.opts, *option.secondary_opts)}
        ctx.obj = chosen

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the command's own parameters and the options of the exporters."""
        return [*super().get_params(ctx), *(option for choice in ctx.obj or () for option in choice.options)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then those of each exporter."""
        groups: dict[str, Sequence[click.Parameter]] = {
            "Options": [item for item in super().get_params(ctx) if isinstance(item, click.Option)]
        }
        groups |= {f"Options of {choice.name}": choice.options for choice in ctx.obj or ()}
        write_options(ctx, formatter, groups)

    def name_holder(self, ctx: click.Context, spelling: str) -> str:
        """Return a sentence on the usual exporter that has an option which the chosen ones lack; or ""."""
        if not ctx.obj:
            return ""
        from shallowrules.exporters import get_exporter

        for name in self.usual:
            if name in [choice.name for choice in ctx.obj]:
                continue
            choice = ExporterChoice(get_exporter(name), prefix_of(name))
            choice.offer([], (), _unprefixed([choice], ()).get(name, ()))
            if any(spelling in (*option.opts, *option.secondary_opts) for option in choice.options):
                return f"{spelling} belongs to {name}, which is not written (--write)."
        return ""

    def list_options(self, ctx: click.Context) -> str:
        """Return the options of each exporter, as a sentence."""
        said = []
        for choice in ctx.obj or ():
            names = ", ".join(option.opts[0] for option in choice.options)
            said.append(f"Exporter {choice.name!r} has the options: {names or 'none'}.")
        return " ".join(said)


def prefix_of(name: str) -> str:
    """Return the prefix of an exporter's options on ``run``."""
    return re.sub(r"[^0-9A-Za-z]+", "-", name).strip("-").lower() + "-"


def _unprefixed(chosen: Sequence[ExporterChoice], taken: Iterable[str]) -> dict[str, set[str]]:
    """Return the options that need no prefix, by exporter: those whose name nothing else has."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for choice in chosen:
        for spec in choice.specs:
            if spec.command_line.unprefixed:
                wanted.setdefault(f"--{spec.spelling}", []).append((choice.name, spec.name))
    found: dict[str, set[str]] = {}
    for spelling, holders in wanted.items():
        if spelling not in taken and len(holders) == 1:
            found.setdefault(holders[0][0], set()).add(holders[0][1])
    return found


def _parameter_name(exporter: str, option: str) -> str:
    """Return a name for click, which wants an identifier, distinct from those of a command's own parameters."""
    return f"option_{exporter.encode().hex()}_{option}"


def _type(spec: OptionSpec) -> click.ParamType[Any]:
    if spec.kind == "choice":
        return click.Choice([str(choice) for choice in spec.choices])
    types = {"text": click.STRING, "integer": click.INT, "float": click.FLOAT, "path": click.Path(path_type=Path)}
    return types[spec.kind]


def _is_of(spec: OptionSpec, value: Any) -> bool:
    """Return whether a value in JSON is of an option's type; click reports other faults."""
    if spec.shape == "mapping":
        return isinstance(value, dict) and all(_is_item(spec.kind, each) for each in value.values())
    if spec.shape == "sequence":
        return isinstance(value, list) and all(_is_item(spec.kind, each) for each in value)
    return _is_item(spec.kind, value)


def _check_value(spec: OptionSpec, value: Any, where: str) -> None:
    """Raise SettingsError for a value that is not of an option's type, or not one of its choices."""
    if not _is_of(spec, value):
        raise SettingsError(f"{where} must be {type_in_words(spec.kind, spec.shape)}, not {value!r}")
    if spec.kind == "choice":
        held = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else [value]
        for each in held:
            if str(each) not in map(str, spec.choices):
                raise SettingsError(f"{where}: {each!r} is not one of {', '.join(map(repr, spec.choices))}.")


def _is_item(kind: str, value: Any) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {"integer": int, "float": (int, float), "choice": (str, int)}
    return (kind == "flag") is isinstance(value, bool) and isinstance(value, kinds.get(kind, (str, bool)))


def _as_given(spec: OptionSpec, value: Any, locate: Callable[[str], str]) -> Any:
    """Return the value of an option in JSON as click takes it."""

    def item(each: Any) -> Any:
        return locate(each) if spec.kind == "path" else each

    if spec.shape == "mapping":
        return [f"{old}={item(new)}" for old, new in value.items()]
    if spec.command_line.listed:
        return [listed(value)]
    return [item(each) for each in value] if spec.shape == "sequence" else item(value)


def _collect(spec: OptionSpec, value: Any, context: click.Context, parameter: click.Parameter) -> Any:
    """Turn click's value of an option into the one that the exporter takes."""
    if spec.shape == "mapping":
        kind, pairs = _type(spec), {}
        for pair in value:
            old, new = split_pair(pair, context, parameter)
            pairs[old] = _chosen(spec, kind.convert(new, parameter, context))
        return pairs
    if spec.command_line.listed:
        return tuple(split_list(value))
    if spec.shape == "sequence":
        return tuple(_chosen(spec, item) for item in value)
    return _chosen(spec, value)


def _chosen(spec: OptionSpec, value: Any) -> Any:
    """Return a choice as the dataclass stores it, and any other value unchanged."""
    return next((choice for choice in spec.choices if str(choice) == value), value)


def _shown_default(spec: OptionSpec, name: str) -> str:
    """Return the default as the user would type it, empty where there is nothing to type."""
    if spec.kind == "flag" and spec.default is not None:
        return f"--{name}" if spec.default else f"--no-{name}"
    if spec.default is None or (isinstance(spec.default, str | Sequence | Mapping) and not spec.default):
        return ""
    if spec.shape == "mapping":
        return ", ".join(f"{old}={new}" for old, new in spec.default.items())
    if isinstance(spec.default, list | tuple):
        return ", ".join(map(str, spec.default))
    return str(spec.default)
