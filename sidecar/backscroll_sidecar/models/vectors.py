"""What every embedder's output must be before it leaves the port."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault


def checked_vectors(made: ArrayLike, count: int, dims: int) -> NDArray[np.float32]:
    """Unit vectors, float32[count, dims], C-contiguous. `dims` 0 takes any size, the same for all.

    Raises
    ------
    ModelError
        BAD_RESPONSE: another number of vectors, another size, or one that is zero, NaN or infinite.
    """
    try:
        wide = np.asarray(made, np.float64)
    except (TypeError, ValueError):
        raise failed(ModelFault.BAD_RESPONSE) from None
    if count == 0:
        return np.empty((0, dims), np.float32)
    size = wide.shape[1] if wide.ndim == 2 else 0
    if wide.shape != (count, size) or size == 0 or dims not in {0, size}:
        raise failed(ModelFault.BAD_RESPONSE)
    largest = np.abs(wide).max(axis=1, keepdims=True)
    if not (np.isfinite(largest).all() and (largest > 0).all()):
        raise failed(ModelFault.BAD_RESPONSE)
    scaled = wide / largest
    unit = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.ascontiguousarray(unit, np.float32)
