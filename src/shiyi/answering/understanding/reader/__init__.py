"""The trained reader of questions."""
