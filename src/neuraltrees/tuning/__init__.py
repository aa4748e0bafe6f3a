"""Hyper-parameters: a grid, one search, one resumable store."""
