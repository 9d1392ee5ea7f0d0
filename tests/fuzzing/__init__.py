"""Inputs made up by the hundred thousand for everything of ours that parses."""
