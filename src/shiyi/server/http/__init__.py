"""What every request shares."""
