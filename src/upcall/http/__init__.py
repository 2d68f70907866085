"""What the listeners share: the gate that counts connections, and one HTTP connection with its limits."""
