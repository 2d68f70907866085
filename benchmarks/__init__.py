"""How fast, how small, and against which limit: `python -m benchmarks`, or `make bench`."""
