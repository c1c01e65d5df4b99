"""Backups of a database: one file each, made while a server writes, put back in one step."""
