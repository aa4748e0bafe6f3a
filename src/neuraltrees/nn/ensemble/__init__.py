"""R runs at once: linear maps, norms, dropout and sparse products with a dimension of runs."""
