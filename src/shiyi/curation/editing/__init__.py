"""The claim editor."""
