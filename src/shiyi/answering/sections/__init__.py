"""The parts of an answer."""
