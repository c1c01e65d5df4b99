"""A history moves from one database to another while servers go on. `move` does it; the ends are of the stores."""
