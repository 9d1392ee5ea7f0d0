"""Tables in git and the base, reconciled."""
