"""What a user would pick instead: other memories, each in a process of a venv of its own (`make peers`).

These modules import nothing of Backscroll; `worker` runs them.
"""
