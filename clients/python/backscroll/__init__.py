"""Backscroll client."""
