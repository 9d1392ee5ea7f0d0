"""The quad store and what lies on disk beside it."""
