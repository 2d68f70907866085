"""Bridges: how programs that are written with a framework put its approvals and questions to a person.

`upcall` offers each by the framework's name (`upcall.claude`, `upcall.pydantic_ai`), loads it when it is first used, and has
its library as an extra. A bridge knows its library and the client, and no other bridge. What a framework holds while a person
decides (a session, a checkpoint, a state) stays with the program. Begin with `putting.py`, which all of them share.
"""
