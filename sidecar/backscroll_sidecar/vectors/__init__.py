"""Stored vectors and the published index, behind ports; only wiring imports it."""
