"""Benchmarks: `make bench` prints every number of the design beside its bar. Nothing here asserts seconds."""
