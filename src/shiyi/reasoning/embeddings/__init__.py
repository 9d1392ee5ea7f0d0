"""Graph embeddings."""
