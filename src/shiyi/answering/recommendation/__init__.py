"""What to suggest and what not."""
