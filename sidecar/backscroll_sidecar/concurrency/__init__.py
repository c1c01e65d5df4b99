"""How threads and the event loop share the machine: cores, slices of time, turns."""
