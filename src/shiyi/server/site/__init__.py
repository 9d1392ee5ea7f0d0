"""An open knowledge base, as the server holds it."""
