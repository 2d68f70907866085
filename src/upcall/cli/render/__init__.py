"""Values as lines on a terminal: inquiries, runs, details, times, colours."""
