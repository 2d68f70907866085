"""The pure core: what an inquiry is, how it is asked, read and settled.

Standard library only; time is an argument. A decision returns a change, and a store applies it. Begin with
`inquiry/inquiry.py` and `inquiry/lifecycle.py`.
"""
