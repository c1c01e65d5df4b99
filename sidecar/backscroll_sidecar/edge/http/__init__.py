"""The binding of HTTP/1.1: calls as JSON, and the rooms that are made of them."""
