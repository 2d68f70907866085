"""What authors of stores, doors and channels test against: contract suites, examples and scripted people.

`store_contract` needs pytest; the rest does not.
"""
