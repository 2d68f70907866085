"""The seams: protocols of stores, channels and agents, and the values that cross them."""
