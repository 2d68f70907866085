"""What authors of stores, channels and agents test against: contract suites, examples and scripted people."""
