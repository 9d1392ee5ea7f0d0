"""The knowledge tables of ontology/."""
