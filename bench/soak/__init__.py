"""The long runs: processes killed, power cut, many at once, hostile requests; `make soak`."""
