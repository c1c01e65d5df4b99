"""What is learnt from use: records of builds, what people said of the answers, weights and experiments."""
