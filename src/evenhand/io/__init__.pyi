from .packed import pack_panel as pack_panel
from .panels import read_panel as read_panel
from .panels import read_table as read_table
from .paths import MAX_UNPACKED as MAX_UNPACKED
from .results import write_tables as write_tables
from .table import Table as Table

__all__: list[str]
