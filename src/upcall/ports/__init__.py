"""The seams: protocols of stores, channels, agents and runs, and the values that cross them."""
