# Shrunk calibration by lme4, for every panel of panels.csv: what evenhand must find too.
#
# To renew the results, from this folder:   Rscript lme4.R panels.csv > lme4.csv
#
# REML with weights, s ~ 1 + (1 | object) + (1 | assessor), and the same with covariates, one of which (section) is of
# objects; the same by ML; and s ~ 1 + (1 | object) where nobody assessed twice. The optimiser's answer is improved by Newton's steps, because the criterion is flat and the comparison is to five digits and more.

suppressPackageStartupMessages(library(lme4))

improve <- function(criterion, theta) {
  free <- which(theta > 1e-3)
  objective <- function(some) criterion(replace(theta, free, some))
  for (round in 1:4) {
    some <- theta[free]
    theta[free] <- some - solve(numDeriv::hessian(objective, some), numDeriv::grad(objective, some))
  }
  replace(theta, setdiff(seq_along(theta), free), 0)
}

fit <- function(formula, table, reml) {
  control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 1e5),
                         check.conv.singular = "ignore")
  parts <- lFormula(formula, table, weights = table$confidence, REML = reml, control = control)
  criterion <- do.call(mkLmerDevfun, parts)
  found <- optimizeLmer(criterion, optimizer = "bobyqa", control = control$optCtrl)
  theta <- improve(criterion, found$par)
  criterion(theta)
  found$par <- theta
  found$fval <- criterion(theta)
  mkMerMod(environment(criterion), found, parts$reTrms, fr = parts$fr)
}

say <- function(panel, model, what, label, number) {
  cat(sprintf("%s,%s,%s,%s,%.12g\n", panel, model, what, label, number), sep = "")
}

models <- list(
  shrunk = score ~ 1 + (1 | object) + (1 | assessor),
  order = score ~ 1 + order + (1 | object) + (1 | assessor),
  round = score ~ 1 + round + (1 | object) + (1 | assessor),
  both = score ~ 1 + order + round + (1 | object) + (1 | assessor),
  section = score ~ 1 + section + (1 | object) + (1 | assessor),
  ml = score ~ 1 + (1 | object) + (1 | assessor),
  once = score ~ 1 + (1 | object),
  once_ml = score ~ 1 + (1 | object)
)

# which models are fitted to a panel
chosen <- function(panel) {
  if (panel == "once") return(c("once", "once_ml"))
  if (panel %in% c("unbalanced", "singles")) return(c("shrunk", "order", "round", "both", "section", "ml"))
  c("shrunk", "ml")
}

path <- commandArgs(trailingOnly = TRUE)[1]
all <- read.csv(path, stringsAsFactors = FALSE)
cat("panel,model,what,label,number\n")
for (panel in unique(all$panel)) {
  table <- all[all$panel == panel, ]
  table$object <- factor(table$object)
  table$assessor <- factor(table$assessor)
  most <- names(sort(-table(table$round)))[1]
  table$round <- relevel(factor(table$round), ref = most)
  table$section <- factor(as.integer(as.character(table$object)) %% 3)
  table$section <- relevel(table$section, ref = names(sort(-table(table$section)))[1])
  for (model in chosen(panel)) {
    is_reml <- !grepl("ml$", model)
    found <- suppressMessages(fit(models[[model]], table, is_reml))
    sds <- as.data.frame(VarCorr(found))
    say(panel, model, "sd", sds$grp, sds$sdcor)
    if (is_reml) say(panel, model, "reml", "criterion", REMLcrit(found))
    effects <- fixef(found)
    say(panel, model, "fixed", names(effects), effects)
    say(panel, model, "fixed_sd", names(effects), sqrt(diag(as.matrix(vcov(found)))))
    for (side in intersect(c("object", "assessor"), names(ranef(found)))) {
      modes <- ranef(found, condVar = FALSE)[[side]]
      say(panel, model, side, rownames(modes), modes[, 1])
    }
  }
}
