# The time of lme4 on one case: random effects of objects and of assessors, its own defaults.
# Rscript mixed.R CODES SCORES HEADER N WARM RUNS, the first two being .npy files with headers of HEADER bytes.
suppressMessages(library(lme4))
given <- commandArgs(trailingOnly = TRUE)
header <- as.integer(given[3])
size <- as.integer(given[4])

read_after <- function(path, what, count) {
  from <- file(path, "rb")
  on.exit(close(from))
  readBin(from, "raw", header)
  readBin(from, what, count)
}

memory <- function(field) {
  lines <- grep(field, readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", lines)) * 1024
}

codes <- read_after(given[1], "integer", 2 * size)
scores <- read_after(given[2], "double", size)
panel <- data.frame(o = factor(codes[1:size]), a = factor(codes[(size + 1):(2 * size)]), s = scores)
rm(codes, scores)
few <- as.integer(given[5])
small <- droplevels(panel[as.integer(panel$o) <= few, ])
invisible(suppressWarnings(suppressMessages(lmer(s ~ 1 + (1 | o) + (1 | a), data = small))))
before <- memory("VmRSS")
for (run in seq_len(as.integer(given[6]))) {
  gc()
  seconds <- system.time(lmer(s ~ 1 + (1 | o) + (1 | a), data = panel))[["elapsed"]]
  cat("seconds", format(seconds, digits = 15), "\n")
}
cat("memory", format(before, digits = 15), format(memory("VmHWM"), digits = 15), "\n")
