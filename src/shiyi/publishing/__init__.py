"""What leaves the knowledge base: dumps, tables, descriptions."""
