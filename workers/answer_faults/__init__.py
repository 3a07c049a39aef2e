"""What is wrong with an answer that is well-formed and still no thought; see `fault.fault_of`."""
