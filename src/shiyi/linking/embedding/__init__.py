"""Text vectors."""
