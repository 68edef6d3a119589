"""The command line; importing it costs what click costs."""

from evenhand.cli.commands import main

__all__ = ["main"]
