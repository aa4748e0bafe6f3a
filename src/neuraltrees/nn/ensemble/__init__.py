"""R runs at once: linear layers, norms, dropout and sparse products with a run dimension."""
