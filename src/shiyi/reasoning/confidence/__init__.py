"""How the confidence of a claim is made."""
