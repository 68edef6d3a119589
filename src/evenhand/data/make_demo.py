"""Makes the demo panel, a grant competition that never took place: ``python -m evenhand.data.make_demo``."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from evenhand.data import demo_path

SEED = 20170208
SURNAMES = [
    "Adeyemi",
    "Brandt",
    "Castellano",
    "Dubois",
    "Eriksen",
    "Farouk",
    "Grant",
    "Horvat",
    "Ito",
    "Jansen",
    "Kaur",
]


def make_demo(path: Path) -> None:
    """Write the panel: each of 40 proposals is read by two or three of 11 assessors with different standards."""
    generator = np.random.default_rng(SEED)
    proposals = [f"P{number:02d}" for number in range(1, 41)]
    values = generator.normal(64.0, 11.0, len(proposals))
    biases = generator.normal(0.0, 8.0, len(SURNAMES))
    work = np.zeros(len(SURNAMES))
    rows: list[tuple[str, str, int, str]] = []
    for proposal, value in zip(proposals, values, strict=True):
        readers = 3 if generator.random() < 0.4 else 2
        chosen = np.argsort(work + generator.random(work.size))[:readers]
        work[chosen] += 1
        for assessor in np.sort(chosen).tolist():
            level = generator.choice(["high", "medium", "low"], p=[0.35, 0.45, 0.2])
            noise = {"high": 4.0, "medium": 7.0, "low": 12.0}[str(level)]
            score = round(float(np.clip(value + biases[assessor] + noise * generator.standard_normal(), 0, 100)))
            rows.append((proposal, SURNAMES[assessor], score, str(level)))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["proposal", "assessor", "score", "confidence"])
        writer.writerows(rows)


if __name__ == "__main__":
    make_demo(demo_path())
