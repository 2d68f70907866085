"""The pure core: what an inquiry is, how it is asked, read and settled.

Nothing here does I/O, knows a clock or imports anything but the standard library: time, ids and randomness
arrive as arguments, and a decision is returned as a value for a store to apply.
"""
