"""Sessions: who takes part in a conversation, in which mode, and who is to answer. Pure but for `service`."""
