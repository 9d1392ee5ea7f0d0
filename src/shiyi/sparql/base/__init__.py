"""A knowledge base: journal, single writer, generations, backups."""
