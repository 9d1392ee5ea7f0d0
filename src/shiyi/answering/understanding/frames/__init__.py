"""What a question says."""
