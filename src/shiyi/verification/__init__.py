"""Evidence that can be opened: corpora, pointers into them, and claims compared with them."""
