"""The commands and calls whose answers are the contract, by the golden file that holds them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

import evenhand as eh
from evenhand.answers.influence import score_sensitivity

COMMANDS: dict[str, tuple[str, ...]] = {
    "check": (
        *(
            f"check {name} --json"
            for name in ("plain.csv", "levels.csv", "uncertain.csv", "weights.csv", "decimal.csv")
        ),
        *(f"check {name} --json" for name in ("tabs.tsv", "book.xlsx", "book.ods", "table.parquet", "folder")),
        *(f"check {name} --json" for name in ("apart.csv", "pieces.csv", "chain.csv", "thread.csv", "single.csv")),
        "check wide.csv --wide --json",
        "check book.xlsx --sheet Scores --json",
        "check again.csv --duplicates keep --json",
        "check again.csv --duplicates combine --json",
        "check noted.csv --score score --json",
        "check criteria.csv --criterion criterion --json",
        "check rich.csv --covariate order --covariate day --json",
        "check columns.csv --assessor Who --object What --score 'How good' --level 'How sure' --alias hoch=high "
        "--alias tief=low --missing NA --json",
        "check plain.csv",
        "check apart.csv",
        "check thread.csv",
        "check bad_score.csv",
        "check bad_score.csv --json",
    ),
    "calibrate": (
        *(f"calibrate {name} --json" for name in ("plain.csv", "levels.csv", "uncertain.csv", "weights.csv")),
        *(f"calibrate {name} --json" for name in ("decimal.csv", "tabs.tsv", "book.xlsx", "book.ods", "table.parquet")),
        *(f"calibrate levels.csv --method {name} --json" for name in ("sa", "cwa", "iba", "medians")),
        *(f"calibrate levels.csv --solver {name} --json" for name in ("direct", "sparse", "iterative")),
        "calibrate levels.csv --gauge zero-sum --json",
        "calibrate levels.csv --gauge reference --reference 60 --json",
        "calibrate levels.csv --gauge anchor:B --json",
        "calibrate levels.csv --known P1=50 --known P2=55 --json",
        "calibrate levels.csv --factor 3 --interval 0.5 --json",
        "calibrate uncertain.csv --noise declared --json",
        "calibrate uncertain.csv --method cwa --noise declared --json",
        "calibrate levels.csv --top 3 --seed 5 --grades 50,60 --json",
        "calibrate wide.csv --wide --json",
        "calibrate apart.csv --json",
        "calibrate apart.csv --per-component --json",
        "calibrate apart.csv --per-component --gauge zero-sum --top 2 --json",
        "calibrate pieces.csv --json",
        "calibrate chain.csv --json",
        "calibrate thread.csv --top 1 --grades 2 --json",
        "calibrate single.csv --json",
        "calibrate tied.csv --json",
        "calibrate perfect.csv --json",
        "calibrate again.csv --duplicates keep --json",
        "calibrate again.csv --duplicates combine --json",
        "calibrate levels.csv",
        "calibrate levels.csv --rows 2 --top 3",
        "calibrate apart.csv --per-component",
        "calibrate levels.csv --verbose --rows 1",
        "--version",
    ),
    "refinements": (
        "calibrate rich.csv --shrink --json",
        "calibrate rich.csv --shrink-biases --json",
        "calibrate rich.csv --shrink --value-sd 10 --bias-sd 5 --json",
        "calibrate rich.csv --shrink --scale --json",
        "calibrate rich.csv --calibrate-confidence --json",
        "calibrate rich.csv --power 0.5 --json",
        "calibrate rich.csv --power estimated --json",
        "calibrate rich.csv --tails student --json",
        "calibrate rich.csv --tails student --freedom estimated --json",
        "calibrate rich.csv --tails huber --json",
        "calibrate steps.csv --step 10 --shrink --json",
        "calibrate rich.csv --bounds 0,100 --json",
        "calibrate rich.csv --bounds 0,100 --map rational --json",
        "calibrate rich.csv --log-scores --method iba --json",
        "calibrate rich.csv --covariate order --json",
        "calibrate rich.csv --covariate order --covariate day --shrink --json",
        "calibrate rich.csv --method medians --json",
        "calibrate apart.csv --shrink --json",
        "calibrate uncertain.csv --shrink --noise declared --json",
        "calibrate rich.csv --shrink --tails student --top 2",
        "calibrate rich.csv --reliability --json",
        "calibrate apart.csv --per-component --reliability --json",
        "calibrate perfect.csv --reliability --json",
        "calibrate rich.csv --reliability --rows 2",
        "rank rich.csv --shrink --top 2 --json",
        "influence rich.csv --shrink --json",
        "influence rich.csv --tails student --json",
        "next plain.csv --shrink --most 2 --json",
    ),
    "criteria": (
        "calibrate criteria.csv --criterion criterion --json",
        "calibrate criteria.csv --criterion criterion --weight merit=2 --weight style=1 --json",
        "calibrate criteria.csv --criterion criterion --weight merit=1 --json",
        "calibrate criteria.csv --criterion criterion --uncorrelated --top 2 --grades 30 --json",
        "calibrate criteria.csv --criterion criterion --method medians --json",
        "calibrate criteria.csv --criterion criterion --shrink --json",
        "calibrate gaps.csv --criterion criterion --json",
        "calibrate gaps.csv --criterion criterion --method sa --uncorrelated --json",
        "rank criteria.csv --criterion criterion --top 2 --json",
        "calibrate criteria.csv --criterion criterion",
    ),
    "compare": (
        "compare plain.csv --quick --json",
        "compare levels.csv --json",
        "compare uncertain.csv --quick --priors 60,15,10,1,400 --json",
        "compare apart.csv --quick --json",
        "compare apart.csv --per-component --json",
        "compare chain.csv --quick --json",
        "compare steps.csv --step 10 --json",
        "compare rich.csv --bounds 0,100 --covariate order --json",
        "compare single.csv --quick --json",
        "compare levels.csv --quick",
    ),
    "rank": (
        "rank plain.csv --json",
        "rank levels.csv --top 3 --draws 500 --seed 7 --lottery-seed 1 --json",
        "rank levels.csv --method sa --json",
        "rank uncertain.csv --noise declared --top 2 --json",
        "rank perfect.csv --top 1 --json",
        "rank levels.csv --top 3",
    ),
    "influence": (
        "influence plain.csv --json",
        "influence levels.csv --top 3 --json",
        "influence thread.csv --json",
        "influence apart.csv --per-component --json",
        "influence levels.csv --method cwa --json",
        "influence levels.csv --top 3 --rows 2",
    ),
    "next": (
        "next plain.csv --json",
        "next levels.csv --top 3 --most 4 --json",
        "next levels.csv --expected 2 --conflicts conflicts.csv --json",
        "next levels.csv --most 3",
    ),
    "design": (
        "design --objects 6 --assessors 4 --per-object 2 --effort 0.1 --json",
        "design --objects 7 --assessors 7 --per-object 3 --no-outlook --json",
        "design --objects 4 --assessors 4 --per-object 2 --uncertainty 5 --effort 0.1 --max-load 2 --json",
        "design --objects 6 --assessors 4 --per-object 3 --uncertainty 5 --target-sd 4.5 --effort 0.1 --json",
        "design --objects listed.csv --assessors mail.csv --per-object 2 --effort 0.1 --no-outlook --json",
        "design --objects listed.csv --assessors 3 --per-object 2 --expertise known.csv --expertise-weight 0.5 "
        "--effort 0.1 --no-outlook --json",
        "design --objects 6 --assessors 4 --per-object 2 --objective top --top 2 --value-sd 10 --uncertainty 5 "
        "--effort 0.1 --no-outlook --json",
        *(
            f"design --objects 6 --assessors 4 --per-object 2 --objective {name} --effort 0.1 --no-outlook --json"
            for name in ("differences", "worst", "gap", "determinant")
        ),
        "design --objects 6 --assessors 4 --per-object 2 --linking O1 --min-load 2 --effort 0.1 --no-outlook --json",
        "design --objects 4 --assessors 4 --per-object 2 --conflicts all_but.csv --fixed one_fixed.csv --effort 0.1 "
        "--no-outlook --json",
        "design --extend chain.csv --add 2 --effort 0.1 --json",
        "design --extend apart.csv --add 1 --effort 0.1 --no-outlook --json",
        "design --objects 6 --assessors 4 --per-object 2 --effort 0.1",
    ),
    "simulate": (
        "simulate --objects 60 --assessors 5 --per-object 2,3 --profile 1:1:1 --runs 2 --jobs 1 --json",
        "simulate --objects 40 --assessors 5 --per-object 3 --uncertainties 5,9 --profile 1:3 --value-mean 10 "
        "--value-sd 4 --bias-sd 2 --bounds none --step 0 --runs 2 --seed 4 --jobs 1 --json",
        "simulate --objects 60 --assessors 5 --target-sd 5 --profile 1:1:1 --json",
        "simulate --objects 60 --assessors 5 --target-sd 1 --profile 1:1:1 --json",
        "simulate --objects 60 --assessors 5 --per-object 2 --profile 1:1:1 --runs 2 --jobs 1",
    ),
    "reproduce": ("reproduce figure-1 --json", "reproduce figure-1"),
    "plot": (
        "plot values levels.csv --top 3 -o values.json --json",
        "plot biases levels.csv --method iba -o biases.json --json",
        "plot graph apart.csv -o graph.json",
        "plot top apart.csv --per-component --top 2 -o top.json",
    ),
    "report": (
        "report levels.csv --quick --top 3 -o one.html --json",
        "report levels.csv --quick --top 3 --lottery-seed 2 --title Ours -o two.html",
        "report apart.csv --per-component --quick -o three.html --json",
        "report criteria.csv --criterion criterion --quick -o four.html --json",
        "report levels.csv --top 3 --verify one.html --json",
        "report levels.csv --top 3 --verify one.html",
        "report levels.csv --top 2 --verify one.html",
        "report plain.csv --top 3 --verify one.html",
        "report levels.csv --verify 00000000 --json",
    ),
    "pack": (
        "pack levels.csv -o three.packed --parts 3 --json",
        "pack plain.csv -o plain.packed",
        "check three.packed --json",
        "calibrate three.packed --json",
        "check plain.packed --json",
    ),
    "template": (
        "template -o one.xlsx",
        "template -o two.xlsx --confidence none --objects 4 --assessors mail.csv --bounds 0,10",
        "template -o two.xlsx --force",
    ),
    "demo": ("demo --json", "demo --save saved.csv", "check saved.csv --json"),
}
"""What is printed, on which standard stream, with which exit code. In the order in which they run."""

ERRORS: dict[str, tuple[str, ...]] = {
    "errors-files": (
        *(
            f"check {name} --json"
            for name in (
                *(
                    "no_files/nowhere.csv",
                    "folder/c.parquet",
                    "no_files",
                    "noname",
                    "table.json",
                    "empty.csv",
                    "header.csv",
                    "no_score.csv",
                ),
                *("no_column.csv", "two_columns.csv", "two_forms.csv", "bad_score.csv", "bad_level.csv", "bad_sd.csv"),
                *("bad_weight.csv", "mixed.csv", "long.csv", "titled.csv", "unclosed.csv", "quote.csv"),
                *("huge_cell.csv", "nul.csv", "binary.csv", "half.csv", "png.csv", "pdf.csv", "again.csv"),
                *("blank.xlsx", "not_a_book.xlsx", "old.xlsx", "cut.xlsx", "really_ods.xlsx", "entities.ods"),
                *("malformed.ods", "locked.ods", "repeats.ods", "far.ods", "damaged.parquet"),
                *("other_version", "other_count", "no_format", "noted.packed", "counted.packed"),
            )
        ),
        "check book.xlsx --sheet Nothing --json",
        "check plain.csv --sheet Scores --json",
        "check padded.xlsx --max-unpacked 1 --json",
        *(f"check wide_{name}.csv --wide --json" for name in ("alone", "blank", "twice", "headless")),
        "check wide_headless.xlsx --wide --json",
        "check wide.csv --wide --score A --json",
        "check plain.csv --object Thing --json",
        "check plain.csv --object SCORE --json",
        "check levels.csv --level level --confidence score --json",
        "check levels.csv --alias hoch=great --json",
        "check levels.csv --factor 0.5 --json",
        "check no_covariate.csv --covariate order --json",
        "check no_criterion.csv --criterion criterion --json",
        "check clashing.csv --covariate day --duplicates combine --json",
        "check levels.packed --criterion x --json",
        "check many.csv --json",
    ),
    "errors-options": (
        "nonsense",
        "calibrate",
        "calibrate plain.csv --gauge odd",
        "calibrate plain.csv --gauge anchor:Nobody",
        "calibrate plain.csv --gauge reference",
        "calibrate plain.csv --gauge reference --reference nan",
        "calibrate plain.csv --reference 5",
        "calibrate plain.csv --known P1",
        "calibrate plain.csv --known Nothing=5",
        "calibrate apart.csv --per-component --gauge anchor:A",
        "calibrate plain.csv --noise declared",
        "calibrate plain.csv --method sa --noise declared",
        "calibrate plain.csv --interval 2",
        "calibrate plain.csv --top 99",
        "calibrate plain.csv --top 0",
        "calibrate plain.csv --grades 5,4",
        "calibrate plain.csv --grades a",
        "calibrate plain.csv --method best",
        "calibrate plain.csv --method sa --shrink",
        "calibrate plain.csv --method iba --power 1",
        "calibrate plain.csv --power 0.5",
        "calibrate levels.csv --power 9",
        "calibrate plain.csv --shrink --shrink-biases",
        "calibrate plain.csv --freedom 3",
        "calibrate plain.csv --tails student --freedom 0",
        "calibrate plain.csv --value-sd 3",
        "calibrate plain.csv --bias-sd 3",
        "calibrate plain.csv --shrink --value-sd -3",
        "calibrate plain.csv --scale",
        "calibrate plain.csv --shrink --gauge zero-sum",
        "calibrate plain.csv --shrink --per-component",
        "calibrate plain.csv --step 10",
        "calibrate steps.csv --step 10 --tails huber",
        "calibrate steps.csv --step 10 --bounds 0,100",
        "calibrate plain.csv --bounds 0",
        "calibrate plain.csv --bounds 5,4",
        "calibrate plain.csv --bounds 0,100 --log-scores",
        "calibrate plain.csv --map logit",
        "calibrate outside.csv --bounds 0,100",
        "calibrate outside.csv --log-scores",
        "calibrate uncertain.csv --shrink --noise declared --power 2",
        "calibrate thread.csv --calibrate-confidence --shrink",
        "calibrate once.csv --calibrate-confidence",
        "calibrate plain.csv --weight merit=1",
        "calibrate plain.csv --uncorrelated",
        "calibrate criteria.csv --criterion criterion --solver sparse",
        "calibrate criteria.csv --criterion criterion --weight depth=1",
        "calibrate criteria.csv --criterion criterion --weight merit=-1",
        "calibrate criteria.csv --criterion criterion --weight merit=0",
        "calibrate one_style.csv --criterion criterion",
        "calibrate gaps.csv --criterion criterion --shrink",
        "calibrate gaps.csv --criterion criterion --method sa",
        "compare criteria.csv --criterion criterion",
        "compare plain.csv --quick --step 10",
        "compare plain.csv --priors 1,2",
        "compare plain.csv --priors 1,-2,3,4,5",
        "compare plain.csv --priors 1,2,3,4,inf",
        "rank plain.csv --lottery-seed 1",
        "rank plain.csv --top 99",
        "influence plain.csv --top 99",
        "next plain.csv --top 8",
        "next plain.csv --expected -1",
        "next plain.csv --conflicts pairs.csv",
        "next plain.csv --conflicts half_pairs.csv",
        "next plain.csv --conflicts strangers.csv",
        "calibrate plain.csv --out results.odd",
        "calibrate plain.csv --out plain.csv",
        "calibrate plain.csv --out no/where/results.csv",
        "calibrate plain.csv --out folder.csv",
        "calibrate plain.csv --report page.pdf",
        "calibrate plain.csv --report page.txt",
        "demo --save demo.xlsx",
        "report plain.csv -o page.pdf",
        "report plain.csv --lottery-seed 1",
        "report plain.csv --verify 123",
        "report plain.csv --verify nowhere.html",
        "report plain.csv --verify page.html",
        "report plain.csv --verify page_not_text.html",
        "pack criteria.csv --criterion criterion -o new.packed",
        "pack plain.csv -o new.packed --parts 99",
        "pack plain.csv -o folder",
        "pack plain.csv -o plain.csv/inside",
        "template -o new.csv",
        "template -o padded.xlsx",
        "template -o new.xlsx --bounds 1",
        "template -o new.xlsx --bounds 2,1",
        "template -o new.xlsx --objects no_objects.csv",
        "template -o new.xlsx --objects blank_objects.csv",
        "template -o new.xlsx --objects plain.csv --assessors pairs.csv",
        "template -o new.xlsx --objects 100001",
        "simulate --objects 60 --assessors 2 --per-object 3 --runs 1 --jobs 1",
        "simulate --objects 9 --assessors 40 --per-object 2 --runs 1 --jobs 1 --profile 1:1:1",
        "simulate --profile 1:1 --runs 1 --jobs 1",
        "simulate --bounds 9,1 --runs 1 --jobs 1",
        "simulate --value-sd -1 --runs 1 --jobs 1",
        "simulate --target-sd 3 --runs 3",
        "simulate --target-sd 3 --objects 1",
        "reproduce case-study-2",
        "reproduce figure-1 --runs 3",
        "reproduce --data nowhere",
        "reproduce case-study-2 --data wrong_data",
        "reproduce case-study-1 --data wrong_data --runs 1 --jobs 1",
    ),
    "errors-models": (
        "calibrate apart.csv",
        "calibrate extreme.csv",
        "calibrate extreme.csv --method medians",
        "calibrate perfect.csv --shrink",
        "calibrate single.csv --shrink",
        "calibrate once.csv --shrink",
        "rank thread.csv",
        "rank apart.csv --per-component",
        "rank plain.csv --method medians",
        "next thread.csv",
        "next plain.csv --method sa",
        "next apart.csv --per-component",
        "influence plain.csv --method medians",
        "calibrate same_day.csv --covariate day",
        "calibrate by_object.csv --covariate day",
        "calibrate by_pair.csv --covariate day",
        "calibrate many_days.csv --covariate day",
        "calibrate apart_criteria.csv --criterion criterion",
        "calibrate apart_criteria.csv --criterion criterion --uncorrelated",
    ),
    "errors-design": (
        "design --assessors 3",
        "design --objects 3",
        "design --objects 0 --assessors 3 --per-object 1",
        "design --objects 9999999999 --assessors 3 --per-object 1",
        "design --objects 6 --assessors 4",
        "design --objects 6 --assessors 4 --per-object 5",
        "design --objects 6 --assessors 4 --per-object 2 --max-load 2",
        "design --objects 6 --assessors 4 --per-object 2 --min-load 4",
        "design --objects 6 --assessors 4 --per-object 2 --min-load 4 --max-load 3",
        "design --objects 6 --assessors 3 --per-object 2 --conflicts all_conflict.csv",
        "design --objects 4 --assessors 4 --per-object 2 --conflicts in_groups.csv",
        "design --objects 6 --assessors 4 --per-object 2 --fixed many_fixed.csv",
        "design --objects 6 --assessors 4 --per-object 2 --fixed fixed_conflict.csv --conflicts fixed_conflict.csv",
        "design --objects 6 --assessors 6 --per-object 1 --max-load 1",
        "design --objects 6 --assessors 4 --per-object 2 --target-sd 0.1 --uncertainty 5 --effort 0.1",
        "design --objects 4 --assessors 4 --per-object 2 --conflicts together.csv --min-load 2 --max-load 2",
        "design --objects 6 --assessors 4 --per-object 2 --conflicts strangers.csv",
        "design --objects 6 --assessors 4 --per-object 2 --conflicts pairs.csv",
        "design --objects 6 --assessors 4 --per-object 2 --conflicts half_pairs.csv",
        "design --objects 6 --assessors 4 --per-object 2 --linking O9",
        "design --objects 6 --assessors 4 --per-object 2 --uncertainty -5",
        "design --objects 6 --assessors 4 --per-object 2 --objective top",
        "design --objects 6 --assessors 4 --per-object 2 --objective top --top 6 --value-sd 3",
        "design --objects 6 --assessors 4 --per-object 2 --top 2",
        "design --objects 6 --assessors 4 --per-object 2 --expertise-weight 0.5",
        "design --objects 6 --assessors 4 --per-object 2 --only-listed",
        "design --objects 6 --assessors 4 --per-object 2 --hotcrp-action pcreview",
        "design --objects 6 --assessors 4 --per-object 2 --hotcrp bulk.csv",
        "design --objects 6 --assessors 4 --per-object 2 --sheets sheets.csv",
        "design --objects 6 --assessors 4 --per-object 2 --sheets plain",
        "design --objects 6 --assessors 4 --per-object 2 --sheets no/where/sheets",
        "design --objects 6 --assessors 4 --per-object 2 --score-sheet padded.xlsx",
        "design --objects 6 --assessors 4 --per-object 2 --score-sheet same.csv --hotcrp same.csv",
        "design --objects 6 --assessors 4 --per-object 2 --picture drawn.gif",
        "design --objects objects_twice.csv --assessors 3 --per-object 2",
        "design --objects no_objects.csv --assessors 3 --per-object 2",
        "design --objects no_column.csv --assessors 3 --per-object 2",
        "design --objects needs.csv --assessors 3",
        "design --objects links.csv --assessors 3 --per-object 2",
        "design --objects 4 --assessors loads.csv --per-object 2",
        "design --objects 4 --assessors costs.csv --per-object 2",
        *(
            f"design --objects listed.csv --assessors 3 --per-object 2 --expertise {name}.csv"
            for name in ("skills", "skills_twice", "skills_none", "skills_headless", "matrix_headless", "matrix_twice")
        ),
        "design --objects listed.csv --assessors 3 --per-object 2 --expertise known.csv --uncertainty known.csv",
        "design --extend chain.csv --target-sd 1",
        "design --extend chain.csv --left Zoe",
        "design --extend chain.csv --add 1 --per-object 2",
        "design --extend chain.csv --add 1 --uncertainty x",
        "design --extend chain.csv --add 99",
    ),
    "errors-cluster": (
        "calibrate table.parquet --cluster local:1",
        "calibrate table.parquet --cluster local:1 --out no/where/out",
        "calibrate table.parquet --cluster local:1 --out folder",
        "calibrate table.parquet --cluster local:1 --out out --shrink",
        "calibrate table.parquet --cluster local:1 --out out --duplicates combine",
        "calibrate table.parquet --cluster local:1 --out out --method sa",
        "calibrate table.parquet --cluster local:1 --out out --method iba --noise declared",
        "calibrate table.parquet --cluster local:1 --out out --interval 2",
        "calibrate table.parquet --cluster local:1 --out out --gauge anchor:A",
        "calibrate table.parquet --cluster odd --out out",
        "calibrate levels.packed --cluster local:1 --out out --score x",
    ),
}
"""What is refused, with the sentence, its kind and the exit code."""

SLOW = (
    "calibrate folder --cluster local:1 --out clustered --json",
    "calibrate levels.packed --cluster local:1 --out clustered-packed --gauge zero-sum --json",
    "calibrate uncertain_folder --cluster local:1 --out clustered-declared --noise declared --interval 0.5 --json",
    "calibrate no_files --cluster local:1 --out clustered-none --json",
    "calibrate apart_folder --cluster local:1 --out clustered-apart --json",
    "calibrate again_folder --cluster local:1 --out clustered-again --json",
    "calibrate mixed_folder --cluster local:1 --out clustered-mixed --json",
    "calibrate uneven_folder --cluster local:1 --out clustered-uneven --json",
    "calibrate folder --cluster local:1 --out clustered-noise --noise declared --json",
    "calibrate noted.packed --cluster local:1 --out clustered-noted --json",
    "calibrate counted.packed --cluster local:1 --out clustered-counted --json",
)
"""What needs a cluster."""

NOTES = (
    "check noted.csv --score score --json",
    "check western.csv --json",
    "check mixed_day.csv --covariate day --json",
    "check book.xlsx --json",
    "check decimal.csv --json",
    "check levels.csv --best lowest --json",
    "check wide.csv --wide --json",
    "check again.csv --duplicates keep --json",
    "check again.csv --duplicates combine --json",
    "check twice_criteria.csv --criterion criterion --covariate day --duplicates combine --json",
    "check thousands.csv --json",
    "check thousands_points.csv --json",
    "calibrate pieces.csv --per-component --json",
    "rank tied.csv --top 1 --json",
    "calibrate single.csv --json",
    "calibrate apart.csv --shrink --json",
    "calibrate flat.csv --shrink --json",
    "calibrate reviews.csv --shrink --json",
    "calibrate days.csv --covariate day --json",
    "calibrate alike.csv --criterion criterion --uncorrelated --json",
    "calibrate few.csv --criterion criterion --json",
    "influence crowded.csv --json",
    "compare plain.csv --quick --json",
    "compare thread.csv --quick --json",
    "compare uncertain.csv --quick --priors 60,15,10,1,2 --json",
    "compare crowded.csv --quick --json",
    "calibrate uncertain.csv --noise declared --json",
    "calibrate levels.csv --solver iterative --json",
    "calibrate levels.csv --method medians --json",
    "calibrate rich.csv --bounds 0,100 --tails student --json",
    "calibrate thread.csv --top 1 --grades 2 --json",
    "design --objects listed.csv --assessors mail.csv --per-object 2 --effort 0.1 --hotcrp bulk.csv --json",
    "reproduce figure-1 case-study-2 --json",
    "rank levels.csv --top 3 --lottery-seed 1 --json",
)
"""Commands of which the notes alone are looked at."""

WRITTEN = (
    *(
        f"calibrate levels.csv --top 3 --grades 50,60 --out calibrate.{ending}"
        for ending in ("csv", "tsv", "xlsx", "parquet", "json")
    ),
    "calibrate rich.csv --shrink --covariate order --out refined.xlsx",
    "calibrate rich.csv --calibrate-confidence --tails student --out tails.csv",
    "calibrate criteria.csv --criterion criterion --out criteria.xlsx",
    "calibrate criteria.csv --criterion criterion --out criteria.parquet",
    "calibrate apart.csv --per-component --out apart.xlsx",
    "calibrate levels.csv --method sa --out averages.xlsx",
    "calibrate levels.csv --method medians --out medians.xlsx",
    "compare levels.csv --quick --out compare.xlsx",
    "compare levels.csv --quick --out compare.csv",
    "rank levels.csv --top 3 --lottery-seed 1 --out rank.xlsx",
    "rank levels.csv --out rank.parquet",
    "influence levels.csv --top 3 --out influence.xlsx",
    "influence levels.csv --out influence.csv",
    "next levels.csv --out next.xlsx",
    "next levels.csv --out next.json",
    "design --objects listed.csv --assessors mail.csv --per-object 2 --effort 0.1 --out design.xlsx --sheets sheets "
    "--score-sheet scoresheet.csv --hotcrp hotcrp.csv --picture design.svg",
    "design --objects 6 --assessors 4 --per-object 2 --effort 0.1 --no-outlook --out design.csv --sheets sheets.xlsx "
    "--score-sheet scoresheet.xlsx --confidence uncertainty",
    "simulate --objects 60 --assessors 5 --per-object 2 --profile 1:1:1 --runs 1 --jobs 1 --out simulate.xlsx",
    "simulate --objects 60 --assessors 5 --target-sd 5 --profile 1:1:1 --out plan.csv",
    "simulate --objects 60 --assessors 5 --per-object 2,3 --profile 1:1:1 --runs 2 --jobs 1 --figures figures",
    "reproduce figure-1 --out reproduce.csv",
    "demo --out demo.csv",
    "template -o template.xlsx --objects 4 --assessors mail.csv --bounds 0,10",
    "template -o template-none.xlsx --confidence none",
    "pack levels.csv -o again.packed --parts 2",
)
"""Commands that write files, the layouts of which are the contract."""


def calls() -> dict[str, Callable[[], Any]]:
    """Return what is refused of calls from Python, beside the panels in the working directory."""
    panel = eh.Panel.from_arrays
    plain, levels, uncertain = (eh.read_panel(f"{name}.csv") for name in ("plain", "levels", "uncertain"))
    apart, rich = eh.read_panel("apart.csv"), eh.read_panel("rich.csv", covariates=["order"])
    fit, leveled, averaged = eh.calibrate(plain), eh.calibrate(levels), eh.simple_average(plain)
    in_groups = eh.calibrate(apart, per_component=True)
    criteria = eh.calibrate_criteria(eh.read_panel("criteria.csv", criterion="criterion"))
    in_gaps = eh.calibrate_criteria(eh.read_panel("gaps.csv", criterion="criterion"))
    twice = eh.calibrate(eh.read_panel("again.csv", duplicates="keep"))
    small = eh.calibrate(panel([0, 0, 1, 1], [0, 1, 0, 1], [1.0, 2.0, 3.0, 5.0]))
    doubled = pd.DataFrame([[1, 2, 3, 4]], columns=["object", "assessor", "score", "score"])
    ask = {"object": ["x"], "assessor": ["A"]}
    plots = eh.plots
    return {
        "codes of floats": lambda: panel([0.5], [0], [1.0]),
        "negative codes": lambda: panel([-1], [0], [1.0]),
        "codes with gaps": lambda: panel([0, 2], [0, 0], [1.0, 2.0]),
        "codes of another length": lambda: panel([0, 1], [0], [1.0]),
        "scores in a table": lambda: panel([0], [0], [[1.0]]),
        "no scores": lambda: panel([], [], []),
        "scores as words": lambda: panel([0], [0], ["good"]),
        "scores that are not finite": lambda: panel([0], [0], [np.nan]),
        "confidences of another length": lambda: panel([0], [0], [1.0], [1.0, 2.0]),
        "confidences that are not finite": lambda: panel([0], [0], [1.0], [np.inf]),
        "confidences of zero": lambda: panel([0], [0], [1.0], [0.0]),
        "too few labels": lambda: panel([0, 1], [0, 0], [1.0, 2.0], objects=["x"]),
        "a covariate of another length": lambda: panel([0], [0], [1.0], covariates={"order": [1, 2]}),
        "a covariate with a gap": lambda: panel([0, 1], [0, 0], [1.0, 2.0], covariates={"day": np.array(["x", None])}),
        "no frame": lambda: eh.Panel.from_frame([1, 2, 3]),
        "a lazy frame": lambda: eh.Panel.from_frame(pl.LazyFrame({"object": [1]})),
        "a frame with a column twice": lambda: eh.Panel.from_frame(doubled),
        "a frame without scores": lambda: eh.Panel.from_frame(pl.DataFrame(ask)),
        "a frame with a bad score": lambda: eh.Panel.from_frame(pl.DataFrame(ask | {"score": ["odd"]})),
        "a frame with no row": lambda: eh.Panel.from_frame(pl.DataFrame(ask | {"score": [1]}).clear()),
        "a criterion of a panel without": lambda: plain.of_criterion("merit"),
        "a criterion that is not there": lambda: criteria.panel.of_criterion("depth"),
        "duplicates treated oddly": lambda: eh.read_panel("plain.csv", duplicates="odd"),  # type: ignore[arg-type]
        "a name that no file has": lambda: eh.read_panel("a\0b.csv"),
        "an odd gauge": lambda: eh.calibrate(plain, gauge="odd"),  # type: ignore[arg-type]
        "an anchor on nothing": eh.Anchor,
        "an affine gauge of another length": lambda: eh.calibrate(plain, gauge=eh.Affine([1.0], 0.0)),
        "an affine gauge that is not finite": lambda: eh.calibrate(plain, gauge=eh.Affine([np.nan] * 5, 0.0)),
        "an affine gauge that fixes nothing": lambda: eh.calibrate(plain, gauge=eh.Affine([1, -1, 0, 0, 0], 0.0)),
        "a reference that is not finite": lambda: eh.calibrate(plain, gauge=eh.Reference(np.inf)),
        "an odd solver": lambda: eh.calibrate(plain, solver="odd"),  # type: ignore[arg-type]
        "odd noise": lambda: eh.calibrate(plain, noise="odd"),  # type: ignore[arg-type]
        "a prior without area": lambda: eh.calibrate(small.panel, noise=eh.NoisePrior(lambda w: 9 * np.log(w), "flat")),
        "a prior of no probability": lambda: eh.calibrate(plain, noise=eh.NoisePrior(lambda w: w * -np.inf, "odd")),
        "priors that are not finite": lambda: eh.Priors(np.nan, 1, 1, 1, 2),
        "priors in the wrong order": lambda: eh.Priors(0, 1, 1, 2, 1),
        "a contrast of nobody": lambda: fit.contrast({"Nothing": 1.0}),
        "a contrast that is not finite": lambda: fit.contrast({"P1": np.nan}),
        "a contrast across groups": lambda: in_groups.contrast({"x": 1.0, "z": -1.0}),
        "draws across groups": lambda: in_groups.posterior.of_differences([0], [2]),
        "pairs of different length": lambda: eh.pairwise(fit, ["P1"], ["P2", "P3"]),
        "pairs of strangers": lambda: eh.pairwise(fit, ["P1"], ["Nothing"]),
        "pairs of different groups": lambda: eh.pairwise(in_groups, ["x"], ["z"]),
        "ranks of no draws": lambda: eh.rank(fit, draws=0),
        "a top that is not there": lambda: eh.rank(fit, top=0),
        "more places than objects": lambda: eh.decide(eh.rank(fit, top=3), 99),
        "cut-offs in disorder": lambda: eh.classify(fit, [3.0, 2.0]),
        "an update of a panel with covariates": lambda: eh.update(
            eh.refine(rich, covariates="order"), put=[("x", "A", 1.0)]
        ),
        "an update that is none": lambda: eh.update(fit, put=[("P1", "A")]),
        "an update of the same twice": lambda: eh.update(fit, put=[("P1", "A", 1.0), ("P1", "A", 2.0)]),
        "an update of a score that is there twice": lambda: eh.update(
            twice, put=[("P1", twice.panel.assessors[0], 1.0)]
        ),
        "removing what is not there": lambda: eh.update(fit, remove=[("P1", "Nobody")]),
        "removing all": lambda: eh.update(small, remove=[(o, a) for o in "01" for a in "01"]),
        "an update by a word": lambda: eh.update(fit, put=[("P1", "A", "good")]),
        "an update without a level": lambda: eh.update(leveled, put=[("P2", "A", 1.0)]),
        "an update with a level too many": lambda: eh.update(fit, put=[("P1", "A", 1.0, "high")]),
        "an update with an odd level": lambda: eh.update(leveled, put=[("P1", "A", 1.0, "huge")]),
        "an update with a negative uncertainty": lambda: eh.update(eh.calibrate(uncertain), put=[("P1", "A", 1.0, -1)]),
        "refinements that are none": lambda: eh.refine(plain, shrink="values"),
        "refinements by a map that is none": lambda: eh.refine(plain, scores="odd"),
        "refinements with odd tails": lambda: eh.refine(plain, tails="odd"),
        "a covariate that is not there": lambda: eh.refine(plain, covariates=("order",)),
        "a scale upside down": lambda: eh.Bounded(5, 4),
        "a scale of an odd shape": lambda: eh.Bounded(0, 1, "odd"),  # type: ignore[arg-type]
        "criteria of a panel without": lambda: eh.calibrate_criteria(plain),
        "criteria pooled": lambda: eh.calibrate(criteria.panel),
        "criteria by an odd method": lambda: eh.calibrate_criteria(criteria.panel, by="odd"),
        "influence on several criteria": lambda: eh.influence(in_gaps.combined),
        "sensitivities of a refined fit": lambda: score_sensitivity(eh.refine(plain, shrink=True)),
        "a report with a lottery and no places": lambda: eh.report(fit, "page.html", lottery_seed=1),
        "a template with odd confidence": lambda: eh.template("new.xlsx", confidence="odd"),  # type: ignore[arg-type]
        "a template with a word for objects": lambda: eh.template("new.xlsx", objects="abc"),
        "a plan for nothing": lambda: eh.studies.plan(-1.0),
        "a study of nothing": lambda: eh.studies.simulation_study(runs=0),
        "a design of nothing": lambda: eh.assign(0, 3, per_object=1),
        "a design of no labels": lambda: eh.assign([], 3, per_object=1),
        "a design with an odd objective": lambda: eh.assign(4, 3, per_object=2, objective="odd"),  # type: ignore[arg-type]
        "a design with an odd matrix": lambda: eh.assign(4, 3, per_object=2, expertise=np.ones((2, 2))),
        "a design with a negative seed": lambda: eh.assign(4, 3, per_object=2, seed=-1),
        "a design with no effort": lambda: eh.assign(4, 3, per_object=2, effort=0),
        "a design with pairs that are none": lambda: eh.assign(4, 3, per_object=2, conflicts=7),
        "an extension by nothing": lambda: eh.extend(plain, 0),
        "a packed panel with covariates": lambda: eh.pack_panel(rich, "new.packed"),
        "a picture of biases of averages": lambda: plots.biases(averaged),
        "a picture of two panels": lambda: plots.methods(fit, small),
        "a picture of one fit beside nothing": lambda: plots.methods(fit),
        "a picture of places without a number": lambda: plots.top(fit),
        "a picture of an odd kind": lambda: plots.save(plots.values(fit), "drawn.gif"),
        "a picture of no rows": lambda: plots.values(fit, most=0),
        "a picture of influence in a tree": lambda: plots.influence(eh.calibrate(eh.read_panel("thread.csv"))),
        "a picture of confidence by something": lambda: plots.confidence(leveled, by="odd"),  # type: ignore[arg-type]
        "a picture of levels that there are not": lambda: plots.confidence(fit, by="level"),
        "a picture of spread that there is not": lambda: plots.confidence(
            eh.calibrate(eh.read_panel("thread.csv")), by="assessor"
        ),
    }


def results() -> dict[str, Any]:
    """Return a result of every kind that has a table."""
    levels = eh.read_panel("levels.csv")
    fit = eh.calibrate(levels)
    rich = eh.refine(
        eh.read_panel("rich.csv", covariates=["order", "day"]), shrink=True, scale=True, covariates=("order", "day")
    )
    sure = eh.refine(eh.read_panel("rich.csv"), calibrate_confidence=True)
    criteria = eh.calibrate_criteria(eh.read_panel("criteria.csv", criterion="criterion"))
    study = {"n_objects": 60, "n_assessors": 5, "uncertainties": (5.0, 10.0)}
    return {
        "Panel": levels,
        "Panel with covariates": rich.panel,
        "Panel with criteria": criteria.panel,
        "Fit.values": fit.values,
        "Fit.biases": fit.biases,
        "Fit.values by medians": eh.median_polish(levels).values,
        "Fit.values in groups": eh.calibrate(eh.read_panel("apart.csv"), per_component=True).values,
        "Refined.covariates": rich.model.tables["covariates"],
        "Refined.scales": rich.model.tables["scales"],
        "Refined.variances": rich.model.tables["variances"],
        "Refined.noise_factors": sure.model.tables["noise_factors"],
        "CriteriaFit": criteria,
        "Correlation": criteria.correlation,
        "Comparison": eh.compare(levels, candidates=()),
        "Ranking": eh.rank(fit, top=3),
        "Classification": eh.classify(fit, [50.0, 60.0]),
        "Influence": eh.influence(fit),
        "NextBest": eh.next_best(fit),
        "Reliability": eh.reliability(fit),
        "Predictions": eh.predict(fit, [(levels.assessors[0], levels.objects[0])]),
        "Predictions of criteria": eh.predict(criteria, [(criteria.panel.assessors[0], criteria.panel.objects[0])]),
        "Design": eh.assign(4, 3, per_object=2, effort=0.1),
        "Design with levels": eh.assign(2, 3, per_object=2, effort=0.1, expertise=np.full((3, 2), 0.5)),
        "SimulationStudy": eh.studies.simulation_study(
            n_objects=60, n_assessors=5, uncertainties=(5.0, 10.0), profiles=((1, 1),), per_object=(2,), runs=1, jobs=1
        ),
        "Plan": eh.studies.plan(5.0, profile=(1, 1), **study),  # type: ignore[arg-type]
        "Reproduction": eh.studies.figure_1(),
    }


@contextlib.contextmanager
def beside_the_panels() -> Iterator[Path]:
    """Work in a directory of its own that holds all panels."""
    import golden_panels

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        golden_panels.write_sound()
        golden_panels.write_unsound()
        eh.pack_panel(eh.read_panel("levels.csv"), "levels.packed")
        for name, change in (("noted.packed", {"notes": ["a note in words"]}), ("counted.packed", {"objects": 9})):
            shutil.copytree("levels.packed", name)
            facts = json.loads(Path(name, "panel.json").read_text(encoding="utf-8"))
            Path(name, "panel.json").write_text(json.dumps(facts | change), encoding="utf-8")
        yield Path(os.getcwd())
