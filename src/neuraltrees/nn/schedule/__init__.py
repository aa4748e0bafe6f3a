"""Schedules: which states are updated when, along which edges."""
