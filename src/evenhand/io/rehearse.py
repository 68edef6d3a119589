"""Read parquet files in a process of its own and say how that went; run as a script, never imported.

The library that reads parquet ends the whole process on some damaged files, and writes to the terminal on
others. What happens here does not reach the program that the user runs.
"""

import json
import sys


def main() -> None:
    """Take a JSON list of files and a limit of cells from standard input and answer in JSON."""
    import polars as pl

    files, max_cells = json.load(sys.stdin)
    try:
        scan = pl.scan_parquet(files, glob=False)
        width = len(scan.collect_schema())
        rows = int(scan.select(pl.len()).collect().item())
        if rows * width <= max_cells:
            scan.collect()
        answer: dict[str, object] = {"rows": rows, "columns": width}
    except Exception as error:
        answer = {"error": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
