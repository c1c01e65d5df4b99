"""What every test gets: nothing yet. Markers and warnings are set in pyproject.toml."""
