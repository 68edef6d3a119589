"""Options: a class describes a group of them once, and a command is handed one object with what was typed.

A field is an option (:func:`text`, :func:`number`, :func:`whole`, :func:`choice`, :func:`path`, :func:`flag`, ...) or a
group of its own (:func:`part`). Checks that need several options stand in ``check``, before anything is read.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, NoReturn, Self, TypeVar, dataclass_transform

import click
from click.core import ParameterSource

from evenhand.cli.showing import Summary, show_json, show_written, shown
from evenhand.words import with_value

if TYPE_CHECKING:
    from evenhand.io.sheets import Sheet

EXIT_NO: Final = 1
EXIT_BAD_INPUT: Final = 2
"""What a command returns where the answer is no, and where it was asked or given something wrong."""

_REST: Final = "The answer"
"""The heading of options that have no heading of their own."""

_EXTREME: Final = 1e50
"""Numbers that are larger, or closer to zero than one over this, leave no room to compute with."""


class HeadedOption(click.Option):
    """An option that --help lists under a heading, with others of its kind.

    ``reads`` where it names an input; ``formerly`` are names that still work and are not listed.
    """

    def __init__(
        self, names: Sequence[str], *, heading: str | None, reads: bool, formerly: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__([*names[:-1], *formerly, names[-1]], **kwargs)
        self.heading = heading
        self.reads = reads
        self.listed = [name for name in self.opts if name not in formerly]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the option as --help lists it."""
        accepted, self.opts = self.opts, self.listed
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = accepted

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the option as errors name it."""
        return " / ".join(f"'{name}'" for name in self.listed)


def spelling(option: click.Parameter) -> str:
    """Return how an option is named in a sentence: in full."""
    names: list[str] = getattr(option, "listed", option.opts)
    return next((name for name in names if name.startswith("--")), names[0])


def grouped(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the listed options of a command by their headings: those of the answer, which have none, last."""
    groups: dict[str, list[click.Option]] = {}
    rest: list[click.Option] = []
    for option in parameters:
        if getattr(option, "hidden", False):
            continue
        if isinstance(option, HeadedOption) and option.heading is not None:
            groups.setdefault(option.heading, []).append(option)
        elif isinstance(option, click.Option):
            rest.append(option)
    return groups | {_REST: rest}


class EvenhandCommand(click.Command):
    """A command whose --help lists options under headings, and that is told everything once."""

    appendix: Callable[[], Mapping[str, Sequence[str]]] | None = None
    """Returns lists of names that --help shows at its end."""

    def __init__(self, name: str | None, *, group: type[Options], **attributes: Any) -> None:
        super().__init__(name, **attributes)
        self.group = group
        del self.params  # so that the options are made when they are asked for: one run needs those of one command

    @functools.cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]
        """The options, in the order in which --help lists them."""
        return list(self.group.parameters())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what was typed, and refuse an option that was given two values."""
        given = list(args)
        rest = super().parse_args(ctx, args)
        order = self.make_parser(ctx).parse_args(given)[2]
        for option in order:
            once = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
            if once and sum(other is option for other in order) > 1:
                raise click.UsageError(f"{spelling(option)} was given twice: leave one of the two out.", ctx)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        groups = grouped(self.get_params(ctx))
        for heading, options in groups.items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(heading if len(groups) > 1 else "Options"):
                formatter.write_dl([record for record in records if record is not None])
        if self.appendix is not None:
            with formatter.section("Names by which columns are recognised"):
                formatter.write_dl([(what, ", ".join(names)) for what, names in self.appendix().items()])


class _Parameter(NamedTuple):
    """A field that click is to read, made from its name and the heading of its group."""

    make: Callable[[str, str | None], click.Parameter]


class _Part(NamedTuple):
    """A field that is a group, with those of its fields that are not options, and options that are not listed."""

    group: type[Options]
    fixed: dict[str, object]
    hidden: tuple[str, ...] = ()


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Options:
    """A group of options, never changed; --help lists them under its heading, if it has one.

    As of a frozen dataclass, but without its cost when a program starts.
    """

    heading: ClassVar[str | None]
    _fields: ClassVar[dict[str, _Parameter | _Part]] = {}

    def __init_subclass__(cls, heading: str | None = None) -> None:
        cls.heading = heading
        own = {name: one for name, one in vars(cls).items() if isinstance(one, _Parameter | _Part)}
        cls._fields = cls._fields | own

    def __init__(self, **given: object) -> None:
        vars(self).update(given)

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{name} cannot be changed.")

    def check(self) -> None:
        """Refuse options that exclude or lack each other."""

    @classmethod
    def parameters(cls, hidden: Sequence[str] = ()) -> Iterator[click.Parameter]:
        """Yield what click is to read, in the order in which --help lists it, or does not where it is ``hidden``."""
        for name, one in cls._fields.items():
            if isinstance(one, _Part):
                yield from one.group.parameters((*hidden, *one.hidden))
            else:
                made = one.make(name, cls.heading)
                if name in hidden and isinstance(made, click.Option):
                    made.hidden = True
                yield made

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of all options."""
        parts = [one.group.names() if isinstance(one, _Part) else [name] for name, one in cls._fields.items()]
        return [name for names in parts for name in names]

    @classmethod
    def told(cls, given: dict[str, object], **fixed: object) -> Self:
        """Return the group with what was typed, not yet checked."""
        for name, one in cls._fields.items():
            fixed[name] = one.group.told(given, **one.fixed) if isinstance(one, _Part) else given[name]
        return cls(**fixed)

    def checks(self) -> Iterator[Callable[[], None]]:
        """Yield the checks of all groups, those of a part before those of the whole."""
        for name, one in self._fields.items():
            if isinstance(one, _Part):
                yield from getattr(self, name).checks()
        if type(self).check is not Options.check:
            yield self.check


Group = TypeVar("Group", bound=Options)


def part(group: type[Options], hidden: Sequence[str] = (), **fixed: object) -> Any:
    """Return a field that is a group of options; ``fixed`` has those of its fields that are not options.

    Options that are ``hidden`` are refused with a reason by whoever is told them, so that --help does not list them.
    """
    return _Part(group, fixed, tuple(hidden))


def option(help: str, *names: str, reads: bool = False, heading: str | None = None, **attributes: Any) -> Any:
    """Return a field that is an option, by default of the field's own name; results never overwrite what it reads.

    It is listed under the heading of its group, unless it has one of its own.
    """
    has_default, own = attributes.get("default") is not None, heading

    def make(name: str, heading: str | None) -> click.Option:
        declared = names or (f"--{name.rstrip('_').replace('_', '-')}",)
        return HeadedOption(
            [*declared, name], heading=own or heading, reads=reads, help=help, show_default=has_default, **attributes
        )

    return _Parameter(make)


def argument(**attributes: Any) -> Any:
    """Return a field that is an argument."""
    return _Parameter(lambda name, _heading: click.Argument([name], **attributes))


def text(metavar: str | None, help: str, *names: str, **attributes: Any) -> Any:
    """Return an option that takes text."""
    return option(help, *names, metavar=metavar, **attributes)


def flag(help: str, *names: str, **attributes: Any) -> Any:
    """Return an option that takes nothing."""
    return option(help, *names, is_flag=True, **attributes)


def choice(choices: Sequence[str], help: str, **attributes: Any) -> Any:
    """Return an option that takes one of some words."""
    return option(help, type=click.Choice(choices), **attributes)


def path(metavar: str, help: str, *names: str, **attributes: Any) -> Any:
    """Return an option that takes a file."""
    return option(help, *names, metavar=metavar, type=click.Path(path_type=Path), **attributes)


def folder(help: str) -> Any:
    """Return an option that takes a directory."""
    return option(help, metavar="DIR", type=click.Path(path_type=Path, file_okay=False))


def output_place(metavar: str, help: str, **attributes: Any) -> Any:
    """Return the option that says where the one thing goes that a command writes."""
    return path(metavar, help, "-o", "--out", formerly=["--output"], **attributes)


def number(metavar: str | None, help: str, **attributes: Any) -> Any:
    """Return an option that takes a number."""
    return option(help, metavar=metavar, type=_Number(), **attributes)


def positive(metavar: str, help: str, **attributes: Any) -> Any:
    """Return an option that takes a number above 0."""
    return option(help, metavar=metavar, type=_NumberRange(min=0, min_open=True), **attributes)


def whole(metavar: str, help: str, *names: str, least: int = 1, **attributes: Any) -> Any:
    """Return an option that takes a whole number."""
    return option(help, *names, metavar=metavar, type=click.IntRange(min=least), **attributes)


def row_limit(default: int) -> Any:
    """Return the option that limits tables on a terminal."""
    return whole("N", "Rows of each table on a terminal; 0 for all.", least=0, default=default)


def verbose_flag() -> Any:
    """Return the option that asks how the work is done; :func:`command` heeds it."""
    return flag("Say on standard error how the work is done, and why.", "-v", "--verbose")


def json_flag() -> Any:
    """Return the option that asks for JSON."""
    return flag("Print JSON for programs.", "--json")


def command(
    group: type[Group], *, epilog: str, name: str | None = None
) -> Callable[[Callable[[Group], int | None]], click.Command]:
    """Return what makes a function of one group of options a command, with progress shown while it works."""

    def make(run: Callable[[Group], int | None]) -> click.Command:
        @functools.wraps(run)
        def wrapped(**given: object) -> int | None:
            with shown(verbose=bool(given.get("verbose"))):
                told = group.told(given)
                for check in list(told.checks()):
                    check()
                return run(told)

        return click.command(name, cls=EvenhandCommand, epilog=epilog, group=group)(wrapped)

    return make


TYPED: Final = "evenhand.typed"
"""Where the words of a command line are kept while it runs."""


def command_line(*without: str) -> str:
    """Return the command that runs as it was typed, to be typed again; without some options."""
    context = click.get_current_context()
    left_out = [one for one in context.command.params if isinstance(one, click.Option) and one.name in without]
    words, kept = list(context.meta[TYPED]), ["evenhand"]
    while words:
        word = words.pop(0)
        option = next((one for one in left_out if any(_is_typed(word, name) for name in one.opts)), None)
        if option is None:
            kept.append(word)
        elif not option.is_flag and word in option.opts:
            words = words[1:]  # its value
    return shlex.join(kept)


def _is_typed(word: str, name: str) -> bool:
    """Return whether a word is an option of this name, alone or with its value."""
    return word == name or word.startswith(f"{name}=" if name.startswith("--") else name)


def typed(*names: str) -> list[str]:
    """Return which of some options of the command that runs were typed (of all, by default), as they are typed."""
    context = click.get_current_context()
    return [
        spelling(option)
        for option in context.command.params
        if (not names or option.name in names)
        and context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    ]


def as_typed(name: str, value: object) -> str:
    """Return how an argument of the library is typed as an option of the command that runs, with its value."""
    context = click.get_current_context(silent=True)
    known = [] if context is None else context.command.params
    names = [spelling(one) for one in known if isinstance(one, click.Option) and one.name in (name, f"{name}_")]
    option = names[0] if names else f"--{name.replace('_', '-')}"
    return with_value(option, value)


def refuse(why: str, *names: str) -> None:
    """Refuse the first of some options that was typed; ``why`` goes on from its name."""
    for option in typed(*names):
        raise click.UsageError(f"{option} {why}")


def check_place(place: Path, known: Sequence[str] = (), tables: Sequence[str] = (), also: Sequence[Path] = ()) -> None:
    """Refuse, before any work is done, a file of an unknown format, or one that must not or cannot be written.

    What the options of the running command read is not overwritten, nor what is in ``also``.
    """
    from evenhand.io.results import check_target

    context = click.get_current_context()
    names = [str(one.name) for one in context.command.params if getattr(one, "reads", one.name == "file")]
    read = [context.params[name] for name in names]
    protected = [*also, *(one for one in read if one is not None)]
    check_target(place, tables, protected, **({"known": known} if known else {}))


class Output(Options):
    """Where the answer goes: a terminal, JSON, and perhaps a file."""

    as_json: bool = json_flag()
    out: Path | None = output_place(
        "FILE", "Also write the tables to FILE: csv, tsv, xlsx, parquet or json, by its ending."
    )
    tables: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse a file that cannot or must not be written, and rows of tables that are not shown."""
        if self.as_json:
            refuse("is for tables on a terminal, which --json does not print: leave one of the two out.", "rows")
        if click.get_current_context().params.get("cluster") is None:  # a cluster writes a directory
            self.protect()

    def protect(self, *also: Path) -> None:
        """Refuse a file that cannot be written, or that is read."""
        if self.out is not None:
            check_place(self.out, tables=self.tables, also=also)

    @property
    def is_full(self) -> bool:
        """Whether all that can be computed is wanted, not only what a terminal shows."""
        return self.as_json or self.out is not None

    def give(
        self,
        summary: Summary,
        show: Callable[[Summary], None],
        detailed: Callable[[], Summary] | None = None,
        also: Sequence[Path] = (),
        front: Callable[[], Sequence[Sheet]] | None = None,
    ) -> None:
        """Write the file, and print JSON or what a person is shown; ``detailed`` makes the summary for a workbook.

        ``front`` makes the sheets that come first there. ``also`` has files that were written before, to be named
        with it.
        """
        written = [] if self.out is None else self._write(self.out, summary, detailed, front)
        if self.as_json:
            show_json(summary)
            return
        show(summary)
        if written or also:
            show_written([*written, *also])

    def _write(
        self,
        out: Path,
        summary: Summary,
        detailed: Callable[[], Summary] | None,
        front: Callable[[], Sequence[Sheet]] | None,
    ) -> list[Path]:
        if out.suffix.lower() == ".xlsx":
            from evenhand.reports.workbook import write_workbook

            first = [] if front is None else front()
            return write_workbook(out, summary if detailed is None else detailed(), self.tables, first)
        from evenhand.io.results import write_summary

        return write_summary(out, summary, self.tables)


class _Number(click.types.FloatParamType):
    """A number, unless it leaves no room to compute with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        return refuse_extreme(super().convert(value, param, ctx), self, param, ctx)


class _NumberRange(click.FloatRange):
    """A number within limits, unless it leaves no room to compute with."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number."""
        return refuse_extreme(super().convert(value, param, ctx), self, param, ctx)


def refuse_extreme(
    found: float,
    kind: click.ParamType[Any],
    param: click.Parameter | None,
    ctx: click.Context | None,
    least: float = 0.0,
) -> float:
    """Return a number that there is room to compute with; nan and infinities are left to whoever knows the option."""
    if is_extreme(found) or 0 < found < least:
        kind.fail(f"{found:g} is too extreme to compute with.", param, ctx)
    return found


def is_extreme(number: float) -> bool:
    """Return whether a number is finite and leaves no room to compute with."""
    return 0 < abs(number) < 1 / _EXTREME or _EXTREME < abs(number) < float("inf")


def how_many(given: str) -> int | None:
    """Return the number that FILE|N gives; None for a file."""
    if not (given.isdecimal() and given.isascii()):
        return None
    if len(given) > 20:
        raise click.UsageError(f"{given[:20]}... is too large a number.")
    return int(given)


def numbers(_context: click.Context, _option: click.Parameter, given: str | None) -> tuple[float, ...]:
    """Read numbers separated by commas."""
    try:
        found = tuple(float(part) for part in given.split(",")) if given else ()
    except ValueError:
        raise click.BadParameter(f"{given!r} should be numbers separated by commas, such as 40,50,60,70.") from None
    if any(map(is_extreme, found)):
        raise click.BadParameter(f"{given!r} has a number too extreme to compute with.")
    return found


def names(_context: click.Context, _option: click.Parameter, given: str | None) -> tuple[str, ...]:
    """Read names separated by commas."""
    return tuple(name.strip() for name in given.split(",") if name.strip()) if given else ()


def two_numbers(context: click.Context, option: click.Parameter, given: str | None) -> tuple[float, float] | None:
    """Read two different numbers separated by a comma."""
    found = numbers(context, option, given)
    if given and (len(found) != 2 or found[0] == found[1]):
        raise click.BadParameter(f"{given!r} should be two different numbers, such as 1,5.", param=option)
    return (found[0], found[1]) if found else None


def word_numbers(context: click.Context, option: click.Parameter, given: str | None) -> dict[str, float] | None:
    """Read WORD=NUMBER separated by commas."""
    if not given:
        return None
    return number_pairs(context, option, tuple(part for part in given.split(",") if part.strip()))


def pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Split NAME=MEANING at the last equals sign."""
    found: dict[str, str] = {}
    for one in given:
        name, sign, meaning = one.rpartition("=")
        if not sign or not name:
            raise click.BadParameter(f"{one!r} should have the form {option.make_metavar(context)}.", param=option)
        if found.get(name, meaning) != meaning:
            raise click.BadParameter(f"{name} was given twice, as {found[name]} and as {meaning}.", param=option)
        found[name] = meaning
    return found


def number_pairs(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, float]:
    """Split NAME=NUMBER at the last equals sign."""
    found: dict[str, float] = {}
    for name, value in pairs(context, option, given).items():
        try:
            found[name] = float(value)
        except ValueError:
            what = "the known value" if option.name == "known" else "the weight"
            raise click.BadParameter(f"{value!r}, {what} of {name}, is not a number.") from None
    return found
