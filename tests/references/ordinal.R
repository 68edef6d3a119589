# Ordered categories by the package ordinal, for every panel of categories.csv: what evenhand must find too.
#
# To renew the results, from this folder:   Rscript ordinal.R categories.csv > ordinal.csv
#
# Cumulative link mixed models by Laplace's method, score ~ 1 + (1 | object) + (1 | assessor). The optimiser's answer is
# improved by Newton's steps on the package's own criterion, because the comparison is to 1e-4.

suppressPackageStartupMessages(library(ordinal))

fit <- function(table, link) {
  formula <- score ~ 1 + (1 | object) + (1 | assessor)
  control <- clmm.control(gradTol = 1e-10, maxIter = 200, innerCtrl = "noWarn")
  state <- clmm(formula, data = table, link = link, doFit = FALSE, control = control)
  criterion <- function(par) ordinal:::getNLA(state, par)
  par <- clmm(formula, data = table, link = link)$optRes$par
  for (round in 1:6) {
    slope <- numDeriv::grad(criterion, par)
    if (max(abs(slope)) < 1e-6) break
    step <- solve(numDeriv::hessian(criterion, par), slope)
    while (!is.finite(criterion(par - step)) || criterion(par - step) > criterion(par) + 1e-9) step <- step / 2
    par <- par - step
  }
  height <- -criterion(par)
  count <- length(par) - 2
  list(height = height, thresholds = par[1:count], sd = par[count + 1:2],
       modes = state$u * rep.int(par[count + 1:2], state$dims$nlev.re), slope = slope)
}

say <- function(panel, link, what, label, number) {
  cat(sprintf("%s,%s,%s,%s,%.12g\n", panel, link, what, label, number), sep = "")
}

path <- commandArgs(trailingOnly = TRUE)[1]
all <- read.csv(path, stringsAsFactors = FALSE)
cat("panel,link,what,label,number\n")
for (panel in unique(all$panel)) {
  table <- all[all$panel == panel, ]
  table$object <- factor(table$object)
  table$assessor <- factor(table$assessor)
  table$score <- factor(table$score, ordered = TRUE)
  for (link in c("probit", "logit")) {
    found <- fit(table, link)
    if (max(abs(found$slope)) > 1e-4) stop(panel, " ", link, ": slope ", max(abs(found$slope)))
    sides <- list(object = levels(table$object), assessor = levels(table$assessor))
    first <- names(sides)[which.max(lengths(sides))]
    second <- setdiff(names(sides), first)
    say(panel, link, "height", "log", found$height)
    say(panel, link, "threshold", seq_along(found$thresholds), found$thresholds)
    say(panel, link, "sd", c(first, second), found$sd)
    say(panel, link, rep(c(first, second), lengths(sides)[c(first, second)]), unlist(sides[c(first, second)]), found$modes)
  }
}
