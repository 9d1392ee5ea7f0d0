"""From a file of text to its tree of titles and its passages."""
