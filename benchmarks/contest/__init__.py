"""The parts of `benchmarks/decode.py`: the data, the contestants, the clock and the table."""
