"""What the hardware is and what fits on it: GPUs, boards, model files, placement, health."""
