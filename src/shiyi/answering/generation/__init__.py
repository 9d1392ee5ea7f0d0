"""Sentences that say no more than the claims they cite: written by a model, checked, audited."""
