# Intraclass correlations by psych, for every panel of complete.csv: what evenhand must find too.
#
# To renew the results, from this folder:   Rscript psych.R complete.csv > psych.csv
#
# From the two-way analysis of variance, ICC(1), ICC(2,1), ICC(3,1) and those of averages, with intervals of 90 %.

suppressPackageStartupMessages(library(psych))

path <- commandArgs(trailingOnly = TRUE)[1]
all <- read.csv(path, stringsAsFactors = FALSE)
cat("panel,type,icc,lower,upper\n")
for (panel in unique(all$panel)) {
  table <- all[all$panel == panel, ]
  scores <- tapply(table$score, list(table$object, table$assessor), identity)
  found <- ICC(scores, lmer = FALSE, alpha = 0.1)$results
  cat(sprintf("%s,%s,%.12g,%.12g,%.12g\n", panel, found$type, found$ICC, found[["lower bound"]],
              found[["upper bound"]]), sep = "")
}
