"""Where messages, events and records are kept, behind ports; only wiring imports it."""
