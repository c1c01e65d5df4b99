"""Embedding and chat models behind ports; only wiring imports them."""
