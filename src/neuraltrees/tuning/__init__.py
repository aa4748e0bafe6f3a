"""Hyper-parameter tuning: a grid has points, a trial trains all runs at a point, a search tries them and chooses one.

Finished trials are in a store, a JSON file of named records, which the experiments use as well.
"""
