"""Clinical cases: de-identified at the door, their facets, mentions, classes and reasoning."""
