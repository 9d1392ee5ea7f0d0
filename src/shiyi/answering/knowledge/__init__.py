"""Claims and evidence in memory."""
