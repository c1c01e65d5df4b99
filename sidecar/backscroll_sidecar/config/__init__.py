"""What can be set, where the values come from, and what builds and chats are set to by them."""
