"""Checking data against ``shapes/``; the report as values."""
