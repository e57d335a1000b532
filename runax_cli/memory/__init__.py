"""Memory of the conversation, the run journal and the spend ledger on disk."""
