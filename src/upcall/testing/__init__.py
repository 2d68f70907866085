"""What authors of stores, channels and agents test against: contract suites, examples and scripted people.

Public, and documented on the page about plugins: the modules below, each with its own `__all__`. None is imported here: pytest loads this
package wherever Upcall is installed.
"""

# The names are modules, and each is loaded when it is imported.
# pyright: reportUnsupportedDunderAll=false

__all__ = [
    "agent",
    "agent_contract",
    "agent_examples",
    "channel_contract",
    "channel_house",
    "examples",
    "human",
    "plugin",
    "script",
    "store_contract",
    "store_harness",
    "store_holding",
    "store_ledger",
    "store_reading",
    "store_searching",
    "store_several",
    "store_threads",
]
