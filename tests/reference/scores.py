"""The score of a row: its factors, one row at a time, and their sum."""

import math

import numpy as np

from backscroll_bench.speed.python_factors import factors_of_rows


def score_rows(columns, query, rows, parameters):
    """Factors and shares, float64[m, 5]; the shares of a row added from left to right; after the link."""
    factors = np.array(factors_of_rows(columns, query, rows.tolist(), parameters)).reshape(-1, 5)
    shares = factors * parameters.weights
    linear = [sum(row, 0.0) for row in shares.tolist()]
    link = _logistic if parameters.link == "logistic" else lambda total: min(max(total, 0.0), 1.0)
    return factors, shares, np.array(linear), np.array([link(total) for total in linear])


def _logistic(total):
    """In the form that cannot overflow."""
    if total >= 0:
        return 1.0 / (1.0 + math.exp(-total))
    return math.exp(total) / (1.0 + math.exp(total))
