"""What `backscroll bench` and `backscroll quality` run."""
