"""Moves a history from one database to another while servers run. `move` has the steps, the stores have the ends."""
