"""Stores that answer SPARQL, who may write to them, and the questions we ask them."""
