"""The edge of this machine's own addresses: gRPC over HTTP/2 on the event loop itself, without a thread in between.

`server.LocalServer` takes the same handlers as `grpc.aio`'s server and talks to the same clients (decision 0015).
"""
