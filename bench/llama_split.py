"""llama.cpp's own layer assignment, followed step by step in 32-bit floats; judges our planner.

Written from the rule in llama.cpp's ``src/llama-model.cpp`` (``load_tensors``) alone: running sums
of the split, divided by the last one; slot ``il`` of ``n_layer + 1`` goes to the first device whose
value is greater than ``il / act_gpu_layers``. It shares nothing with `worker.boards`.
"""

from __future__ import annotations

import numpy as np


def devices_of_slots(n_layer: int, tensor_split: list[float]) -> list[int]:
    """The device of each layer and, last, of the output, with all layers offloaded."""
    splits = np.array(tensor_split, dtype=np.float32)
    split_sum = np.float32(0.0)
    for i in range(len(splits)):
        split_sum = np.float32(split_sum + splits[i])
        splits[i] = split_sum
    for i in range(len(splits)):
        splits[i] = np.float32(splits[i] / split_sum)
    act_gpu_layers = n_layer + 1
    devices = []
    for il in range(n_layer + 1):
        position = np.float32(np.float32(il) / np.float32(act_gpu_layers))
        device = 0
        while device < len(splits) and not splits[device] > position:  # std::upper_bound
            device += 1
        devices.append(device)
    return devices


def board_changes(devices: list[int], board_of_device: list[str]) -> int:
    """How often the next slot lies on another board."""
    walk = [board_of_device[device] for device in devices]
    return sum(1 for i in range(1, len(walk)) if walk[i] != walk[i - 1])
