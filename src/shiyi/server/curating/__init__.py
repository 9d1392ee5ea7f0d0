"""Pages for curators."""
