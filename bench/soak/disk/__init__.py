"""What a disk does to a base: power cuts, failing system calls, lost and damaged files."""
