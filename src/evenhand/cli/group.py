"""The group of commands: every error one line on stderr, never a traceback; exit code 0, 1 or 2."""

from __future__ import annotations

import sys
from typing import Any

import click

EXIT_NO = 1
EXIT_BAD_INPUT = 2


class EvenhandGroup(click.Group):
    """The commands, with every error as one line on stderr and never a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; exit with 0 (fine), 1 (the answer is no) or 2 (bad input)."""
        kwargs["standalone_mode"] = False
        try:
            sys.exit(super().main(*args, **kwargs) or 0)
        except click.exceptions.Exit as stop:
            sys.exit(stop.exit_code)
        except click.Abort:
            _say("Stopped.")
            sys.exit(130)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx is not None else "evenhand"
            _say(f"Error: {error.format_message()} See `{command} --help`.")
            sys.exit(EXIT_BAD_INPUT)
        except click.ClickException as error:
            _say(f"Error: {error.format_message()}")
            sys.exit(EXIT_BAD_INPUT)
        except BrokenPipeError:
            # the reader of our output went away: no fault of ours, and nobody is left to tell
            sys.stderr.close()
            sys.exit(EXIT_NO)
        except Exception as error:
            from evenhand.errors import EvenhandError, InputError, MissingPackageError

            if isinstance(error, MemoryError):
                _say("Error: there is not enough memory for this panel on this machine.")
                sys.exit(EXIT_NO)
            if not isinstance(error, EvenhandError):
                raise
            _say(f"Error: {error}")
            sys.exit(EXIT_BAD_INPUT if isinstance(error, InputError | MissingPackageError) else EXIT_NO)


def _say(message: str) -> None:
    """Write one line to stderr, whatever a label may contain."""
    from evenhand.cli.terminal import printable

    click.echo(printable(message), err=True)
