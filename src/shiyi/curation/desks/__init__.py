"""What curators do, for the pages, the JSON API and the commands."""
