"""Figures: one style, one way to save."""
