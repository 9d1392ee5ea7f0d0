"""The values every floor speaks in; frozen, and unable to exist wrong."""
