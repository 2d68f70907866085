"""The picker behind `upcall answer`: `picker.py` is its state, `drawing.py` its lines, `screen.py` the terminal."""
