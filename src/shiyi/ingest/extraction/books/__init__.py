"""Entries of old books of materia medica, formulas and dishes, read into statements."""
