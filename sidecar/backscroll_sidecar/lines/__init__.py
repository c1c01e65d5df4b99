"""How a message is written as a line, so that no text can pass for another line."""
