"""The edge of this machine's own addresses: gRPC over HTTP/2 on the event loop itself, without a thread in between.

`server.LocalServer` answers the same endpoints as gRPC's own server, to the same clients (decision 0015).
"""
