"""The same work on Upcall and on other ways for an agent to ask a person: `make bench ARGS=peers`.

Each way has one module here, which runs as two child processes with the interpreter that has its package: agents that ask and
wait, and a person who answers. Those modules import `harness` and `stdio`, the standard library and their own package, since
nothing else of ours is installed beside them. The parent's side begins in `figure`; `candidates` lists who is measured.
"""
