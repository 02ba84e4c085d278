//! Devices, tensors, the launch contract, errors.
