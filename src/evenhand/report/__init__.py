"""What people and programs are shown: one summary, read by the terminal, JSON and every file."""
