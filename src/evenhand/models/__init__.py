"""Models of scores, one file per family of the paper: each takes a panel and returns a Fit."""
