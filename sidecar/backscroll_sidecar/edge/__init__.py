"""The edge: protobuf to domain and back, one error table, thin servicers. Nothing below it knows gRPC."""
