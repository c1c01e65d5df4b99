"""StreamChat and Chat: store the question, build a context, stream the model, store the reply."""
