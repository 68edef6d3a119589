"""Who should assess what: a design before the scores come in (end of App. C and App. F)."""
