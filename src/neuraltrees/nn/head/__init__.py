"""Heads: how states become answers."""
