"""Convolutions: how one round combines a state with its messages."""
