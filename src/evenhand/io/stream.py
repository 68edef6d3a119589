"""Read parquet files in a process of its own and hand their columns over in batches; run as a script, never imported.

The library that reads parquet ends the whole process on some damaged files, and writes to the terminal on
others. What happens here does not reach the program that the user runs. Messages are a length and then that many
bytes: one of JSON with the names and the number of rows, then, once the columns to read were named on standard
input, batches in Arrow's format for streams; length 0 is the end, and a negative length an error in JSON.
"""

import io
import json
import struct
import sys

LEAST, MOST = 50_000, 125_000


def main() -> None:
    """Take a JSON list of files and then a JSON list of columns from standard input, a line each, and again."""
    while line := sys.stdin.readline():
        hand_over(json.loads(line))


def hand_over(files: "list[str]") -> None:
    """Say what the files hold, wait for the columns that are wanted, and hand these over."""
    import polars as pl

    try:
        scan = pl.scan_parquet(files, glob=False)
        names = scan.collect_schema().names()
        rows = int(scan.select(pl.len()).collect().item())
        say(json.dumps({"names": names, "rows": rows}).encode())
        wanted = json.loads(sys.stdin.readline() or "null")
        if wanted is not None:
            scan = scan.select(names[index] for index in wanted)
            for batch in scan.collect_batches(maintain_order=True, chunk_size=min(max(rows // 50, LEAST), MOST)):
                content = io.BytesIO()
                batch.write_ipc_stream(content)
                say(content.getbuffer())
        sys.stdout.buffer.write(struct.pack("<q", 0))
    except Exception as error:
        reason = json.dumps({"error": str(error)}).encode()
        say(reason, sign=-1)
    sys.stdout.buffer.flush()


def say(content: "bytes | memoryview", sign: int = 1) -> None:
    """Write one message."""
    sys.stdout.buffer.write(struct.pack("<q", sign * len(content)))
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
