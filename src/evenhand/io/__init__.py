"""Files in and out: panels from any kind of table that people have, and result tables that are safe to open."""

from evenhand.io.files import read_table
from evenhand.io.packed import pack_panel
from evenhand.io.panels import read_panel
from evenhand.io.paths import MAX_UNPACKED
from evenhand.io.results import write_tables
from evenhand.io.table import Table
from evenhand.io.wide import lengthen

__all__ = ["MAX_UNPACKED", "Table", "lengthen", "pack_panel", "read_panel", "read_table", "write_tables"]
