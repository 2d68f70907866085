"""Actions as people see them, the rules that remember a decision, and who may approve."""
