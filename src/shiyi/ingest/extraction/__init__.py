"""From a passage to claims with quotes; extractors stand behind one port."""
