"""What an operator watches: metrics and traces, both made from the event log.

It asks no one and decides nothing: it reads the log beside everything else, in batches, so that neither asking nor answering waits
for it. No text of a question or an answer leaves here. Begin with `inquiries.py`; `tracing.py` needs an extra.
"""
