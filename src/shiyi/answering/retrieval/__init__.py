"""Finding claims, paths and passages."""
