"""Any command as an agent: command lines are templates from the settings, and questions may be markers in its text."""
