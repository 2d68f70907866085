"""WhatsApp through Meta's Cloud API: `api.py` calls it, `messages.py` renders, `reading.py` reads, `receipts.py` waits for receipts."""
