"""`backscroll mcp`: one channel of a running server as tools and resources of a model."""
