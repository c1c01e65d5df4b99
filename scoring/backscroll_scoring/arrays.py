"""Names for the array types the package passes around, and the checks its public classes share."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Int32: TypeAlias = NDArray[np.int32]
Int64: TypeAlias = NDArray[np.int64]
Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Int8: TypeAlias = NDArray[np.int8]
Int16: TypeAlias = NDArray[np.int16]
UInt32: TypeAlias = NDArray[np.uint32]
UInt64: TypeAlias = NDArray[np.uint64]
Bool: TypeAlias = NDArray[np.bool_]
UInt8: TypeAlias = NDArray[np.uint8]


def require(name: str, value: object, dtype: type[np.generic], ndim: int = 1) -> NDArray[Any]:
    """Return ``value`` if it is a C-contiguous array of this dtype and rank; say what is wrong
    otherwise.

    Nothing is converted: a silent copy of a whole channel inside a request is worse than an error
    in a test. Read-only arrays are fine.

    Raises
    ------
    TypeError
        Not an array, or of another dtype.
    ValueError
        Another number of dimensions, or not C-contiguous.
    """
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, not {type(value).__name__}")
    kind = value.dtype
    if (
        kind.type is not dtype or not kind.isnative
    ) and kind != dtype:  # the first tells almost always
        raise TypeError(f"{name} must be {np.dtype(dtype).name}, not {value.dtype}")
    if value.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not {value.ndim}")
    if not value.flags.c_contiguous:
        raise ValueError(f"{name} must be C-contiguous; pass np.ascontiguousarray({name})")
    return value
