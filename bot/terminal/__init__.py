"""The terminal's faces. The terminal toolkits are imported nowhere else."""
