"""What came in: which column is what, what a cell may be, the panel, its confidences, gauge and graph."""
