"""Threads: their items, and the prompts that inquiries leave in them."""
