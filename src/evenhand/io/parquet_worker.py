"""Read parquet files in a process of its own and hand their columns over in batches; run as a script, never imported.

The library that reads parquet ends the whole process on some damaged files, and writes to the terminal on
others. What happens here does not reach the program that the user runs. Messages are a length and then that many
bytes; length 0 is the end, and a negative length an error in JSON. Asked for files, the answer is JSON with names and
the number of rows and of bytes of text. Asked for columns, it is batches: in Arrow's format for streams, or pickled
lists of cells for a program that does not import polars.
"""

from __future__ import annotations

import io
import json
import pickle
import struct
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

LEAST, MOST = 50_000, 125_000


def main() -> None:
    """Take questions from standard input, a line of JSON each: for files, and then for columns, and again."""
    while line := sys.stdin.readline():
        hand_over(json.loads(line))


def hand_over(question: dict[str, Any]) -> None:
    """Say what the files hold, wait for the columns that are wanted, and hand these over."""
    import polars as pl

    try:
        scan = pl.scan_parquet(question["files"], glob=False)
        schema = scan.collect_schema()
        names = schema.names()
        rows = int(scan.select(pl.len()).collect().item())
        categorical = [isinstance(schema[name], (pl.Categorical, pl.Enum)) for name in names]
        facts = {"names": names, "rows": rows, "categorical": categorical, "text": 0}
        if rows * len(names) <= question["count_text"]:
            texts = [name for name in names if schema[name] in (pl.String, pl.Categorical, pl.Enum)]
            sizes = scan.select(pl.col(name).cast(pl.String).str.len_bytes().sum() for name in texts)
            facts["text"] = sum(sizes.collect().row(0)) if texts else 0
        say(json.dumps(facts).encode())
        wanted = json.loads(sys.stdin.readline() or "null")
        if wanted is not None:
            scan = scan.select(names[index] for index in wanted["columns"])
            for batch in scan.collect_batches(maintain_order=True, chunk_size=min(max(rows // 50, LEAST), MOST)):
                if wanted["as_lists"]:
                    say(pickle.dumps([as_list(column) for column in batch.iter_columns()]))
                else:
                    content = io.BytesIO()
                    batch.write_ipc_stream(content)
                    say(content.getbuffer())
        sys.stdout.buffer.write(struct.pack("<q", 0))
    except Exception as error:
        reason = json.dumps({"error": str(error)}).encode()
        say(reason, sign=-1)
    sys.stdout.buffer.flush()


def as_list(column: pl.Series) -> list[Any]:
    """Return cells one by one; what is neither number, text, truth value nor date is written as text."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, (pl.Categorical, pl.Enum)):
        return column.cast(pl.String).to_list()
    if kind.is_numeric() or kind.is_temporal() or isinstance(kind, (pl.String, pl.Boolean, pl.Null)):
        return column.to_list()
    return [None if cell is None else str(cell) for cell in column.to_list()]


def say(content: bytes | memoryview, sign: int = 1) -> None:
    """Write one message."""
    sys.stdout.buffer.write(struct.pack("<q", sign * len(content)))
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
