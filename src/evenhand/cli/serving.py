"""``evenhand serve``: the same product in a page, on this machine alone."""

from __future__ import annotations

from pathlib import Path

import click

from evenhand.cli import options as ask
from evenhand.cli.options import Options, command


class ServeOptions(Options):
    """What ``evenhand serve`` is told."""

    port: int | None = ask.whole("N", "The port.  [default: a free one]")
    browser: bool = ask.option("Open the page in a browser.", "--browser/--no-browser", default=True)
    data: Path | None = ask.path("DIR", "Where work is kept.  [default: where programs keep data on this system]")
    temporary: bool = ask.flag("Keep nothing: work is gone when the server stops.")
    demo: bool = ask.flag("Begin with the panel that is shipped.")

    def check(self) -> None:
        """Refuse a port that is none, and two places at once."""
        if self.port is not None and self.port > 65535:
            raise click.UsageError("--port is a number up to 65535.")
        if self.temporary and self.data is not None:
            raise click.UsageError("--temporary keeps nothing: leave --data out.")


@command(ServeOptions, epilog="Example: evenhand serve --demo")
def serve(options: ServeOptions) -> None:
    """Open evenhand in a browser: drop a spreadsheet in, see what was understood, decide, try, and take a report along.

    The server is reached from this machine alone, by a link that works once; nothing leaves the machine. Work is kept
    in one directory, which is named when it starts. Stop it with Ctrl-C: everything that a page called saved is there
    the next time.
    """
    from evenhand.web.serve import serve as run

    run(
        port=options.port or 0,
        data=options.data,
        temporary=options.temporary,
        browser=options.browser,
        demo=options.demo,
        say=click.echo,  # a link must not be folded
    )
