"""The vendors' rules for a request, and servers that hold to them: independent of the adapters."""
