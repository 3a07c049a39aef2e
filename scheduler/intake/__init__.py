"""The edge: whatever hosts, kinds and models hand in is checked here, once, before anything is changed."""
