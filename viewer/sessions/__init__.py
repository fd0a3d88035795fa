"""The sessions that there are: found, named, chosen and examined."""
