#!/usr/bin/env python3
"""Makes the two shipped files from the UCI digits in scikit-learn. See README.md.

    pip install numpy==2.4.6 scikit-learn==1.9.1
    python make_digits.py

Deterministic: the same bytes at every run.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

TRAIN = 1000  # the first images are known, the remaining 797 are asked for

digits = load_digits()
pixels = digits.data.astype(np.float64)  # [1797, 64], whole numbers 0..16
# Every image as a vector of length 1: the product of two images is then the cosine of their angle.
images = (pixels / np.linalg.norm(pixels, axis=1, keepdims=True)).astype(np.float32)
labels = digits.target.astype(np.uint8)


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The bits of f32 values rounded to bf16, to nearest even. (Finite values only; there are no others here.)"""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


here = Path(__file__).parent
np.save(here / "digits_asked.npy", images[TRAIN:])

# numpy has no bf16, so the file is written here by the rules of the format: length, JSON header, raw tensors.
known = np.ascontiguousarray(images[:TRAIN].T)  # [64, 1000]
tensors = {
    "known": ("BF16", known.shape, bfloat16(known).astype("<u2").tobytes()),
    "known_labels": ("U8", (TRAIN,), labels[:TRAIN].tobytes()),
    "asked_labels": ("U8", (len(labels) - TRAIN,), labels[TRAIN:].tobytes()),
}
origin = "UCI Optical Recognition of Handwritten Digits, doi:10.24432/C50P49, CC BY 4.0"
header, offset = {"__metadata__": {"origin": origin}}, 0
for name, (dtype, shape, data) in tensors.items():
    header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, offset + len(data)]}
    offset += len(data)
text = json.dumps(header, separators=(",", ":")).encode()
text += b" " * (-len(text) % 8)
with open(here / "digits_known.safetensors", "wb") as file:
    file.write(len(text).to_bytes(8, "little") + text + b"".join(data for _, _, data in tensors.values()))
