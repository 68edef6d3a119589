"""The pages, a file each: start, reading, decision, what if, record, design."""
