"""Claims as sentences."""
