"""The binding of gRPC's handlers."""
