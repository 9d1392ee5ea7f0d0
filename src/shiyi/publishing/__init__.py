"""Publishing of the knowledge base: dumps, tables, descriptions, releases."""
