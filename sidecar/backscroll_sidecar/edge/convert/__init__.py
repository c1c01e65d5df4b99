"""Protobuf to domain values and back. Pure but for what slices of the loop's time are given to long lists."""
