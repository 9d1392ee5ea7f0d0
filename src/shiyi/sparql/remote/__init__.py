"""A store elsewhere, over the SPARQL 1.1 Protocol."""
