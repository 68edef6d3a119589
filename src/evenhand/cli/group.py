"""The group of commands: every error one line on stderr, never a traceback; exit code 0, 1 or 2."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

import click

EXIT_NO = 1
EXIT_BAD_INPUT = 2
REST = "The answer"
"""The heading of options that have no heading of their own."""


class HeadedOption(click.Option):
    """An option that --help lists under a heading, with others of its kind; ``reads`` where it names an input."""

    def __init__(self, *args: Any, heading: str | None, reads: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heading = heading
        self.reads = reads


def grouped(parameters: Iterable[click.Parameter]) -> dict[str, list[click.Option]]:
    """Return the options of a command by their headings: those of the answer, which have none, last."""
    groups: dict[str, list[click.Option]] = {}
    rest: list[click.Option] = []
    for option in parameters:
        if isinstance(option, HeadedOption) and option.heading is not None:
            groups.setdefault(option.heading, []).append(option)
        elif isinstance(option, click.Option):
            rest.append(option)
    return groups | {REST: rest}


class EvenhandCommand(click.Command):
    """A command whose --help lists options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        groups = grouped(self.get_params(ctx))
        for heading, options in groups.items():
            records = [option.get_help_record(ctx) for option in options]
            with formatter.section(heading if len(groups) > 1 else "Options"):
                formatter.write_dl([record for record in records if record is not None])


class EvenhandGroup(click.Group):
    """The commands, with every error as one line on stderr and never a traceback."""

    command_class = EvenhandCommand

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; exit with 0 (fine), 1 (the answer is no) or 2 (bad input)."""
        kwargs["standalone_mode"] = False
        _prepare()
        code = self._run(args, kwargs)
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _leave_quietly()
        except OSError as error:
            _say(f"Error: the output cannot be written ({error.strerror}).")
            _leave_quietly()
            code = code or EXIT_NO
        sys.exit(code)

    def _run(self, args: Any, kwargs: Any) -> int:
        try:
            return int(super().main(*args, **kwargs) or 0)
        except click.exceptions.Exit as stop:
            return stop.exit_code
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message())
            return 0
        except click.Abort:
            _say("Stopped.")
            return 130
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx is not None else "evenhand"
            _say(f"Error: {error.format_message().rstrip('.')}. See `{command} --help`.")
            return EXIT_BAD_INPUT
        except click.ClickException as error:
            _say(f"Error: {error.format_message()}")
            return EXIT_BAD_INPUT
        except BrokenPipeError:
            _leave_quietly()  # the reader of our output went away: no fault of ours, and nobody is left to tell
            return EXIT_NO
        except OSError as error:
            _say(f"Error: the output cannot be written ({error.strerror or error}).")
            _leave_quietly()
            return EXIT_NO
        except MemoryError:
            _say("Error: there is not enough memory for this panel on this machine.")
            return EXIT_NO
        except Exception as error:
            from evenhand.errors import EvenhandError, InputError, MissingPackageError

            if not isinstance(error, EvenhandError):
                raise
            _say(f"Error: {error}")
            return EXIT_BAD_INPUT if isinstance(error, InputError | MissingPackageError) else EXIT_NO


def _prepare() -> None:
    """Make sure that there is somewhere to write to, in any encoding, and that an end from outside cleans up."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # kept until the end
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _stop)


def _stop(number: int, _frame: object) -> None:
    """End as by an exception, so that nothing half-written is left behind."""
    sys.exit(128 + number)


def _leave_quietly() -> None:
    """Drop what could not be written, so that the interpreter does not try once more on its way out."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    """Write one line to stderr, whatever a label may contain."""
    from evenhand.cli.showing import printable

    with contextlib.suppress(OSError):
        click.echo(printable(message), err=True)
