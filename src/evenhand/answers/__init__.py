"""From a fit to what people ask: ranks, decisions, evidence, influence, reasons, comparisons, what to do next."""
