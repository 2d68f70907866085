"""What authors of stores, doors, channels and agents test against: contract suites, examples and scripted people.

`store_contract` needs pytest, `agent_contract` needs hypothesis too; the rest does not.
"""
