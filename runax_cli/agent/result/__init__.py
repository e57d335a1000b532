"""Results of a run: verdict and certificate."""
