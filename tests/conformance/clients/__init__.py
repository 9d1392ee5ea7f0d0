"""Third-party clients, as their users would use them."""
