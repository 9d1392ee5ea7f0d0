"""Memory-mapped column files: strings, sorted integer lists, tries."""
