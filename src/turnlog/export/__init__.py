"""Giving it back: raw files, and later pages and documents."""
