"""Set-ups that tests of several packages share."""
