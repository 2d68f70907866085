"""What only presets need: the peculiarities of other designs, each off unless its setting asks for it.

One module for each setting, called like it. The other rooms have general seams and know no preset: routes beside those
of MCP, files in the folder of a run, a sentence on open cards, a drawing of runs. The values are in `config/presets/`.
"""
