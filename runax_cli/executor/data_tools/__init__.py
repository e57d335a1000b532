"""Tools over datasets: query, label, read."""
