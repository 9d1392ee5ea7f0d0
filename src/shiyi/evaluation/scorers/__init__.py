"""How options are scored."""
