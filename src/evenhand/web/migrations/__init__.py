"""How the file of the database came to be, step by step."""
