"""Inputs made up by the hundred thousand for everything of Shiyi's that parses."""
