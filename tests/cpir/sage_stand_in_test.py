#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/security/sage, the stand-in for Sage, against numbers that were computed another way."""

import math
import pathlib
import sys

try:
    import mpmath
except ImportError:
    sys.exit("mpmath is missing (Debian: python3-mpmath)")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/security"))
from sage import all as sage  # noqa: E402


def near(found, expected, most=1e-11):
    assert abs(float(found) - expected) <= most * abs(expected), (found, expected)


def main():
    near(sage.log(1000, 10), 3)
    near(sage.log(2**3000, 2.0), 3000)
    assert sage.log(0) == -sage.oo
    assert [sage.ceil(-2.5), sage.floor(-2.5), sage.round(-2.5), sage.round(2.5)] == [-2, -3, -3, 3]
    assert [sage.ceil(sage.oo), sage.binomial(10, 3), sage.binomial(3, 5), sage.binomial(3, -1)] == [sage.oo, 120, 0, 0]
    assert sage.binomial(2048, 1000) == math.comb(2048, 1000)
    near(sage.find_root(lambda x: x * x - 2, 0, 2), math.sqrt(2))
    assert sage.RR(1).n(30) == 1 and sage.RR("nan").is_NaN() and not sage.RR(1).is_NaN()
    far = sage.RR(1) / 3 * 2**2000  # its fraction takes more than double precision
    near(far - sage.floor(far), 1 / 3)

    # Whole a and b: a sum over the binomial distribution. b = 1 / 2, as the estimator has it: an integral.
    for a, b, x in ((1, 1, 0.25), (2, 3, 0.4), (7, 2, 0.9), (40, 60, 0.35), (40, 60, 0.5)):
        n = a + b - 1
        near(sage.RealDistribution("beta", (a, b)).cum_distribution_function(x), sum(math.comb(n, k) * x**k * (1 - x) ** (n - k) for k in range(a, n + 1)))
    with mpmath.workprec(100):
        for a, x in ((3, 0.99999), (500, 0.99), (2000, 0.9999), (2000, 0.99)):
            near(sage.RealDistribution("beta", (a, 0.5)).cum_distribution_function(x), float(mpmath.betainc(a, 0.5, 0, x, regularized=True)))
    beta = sage.RealDistribution("beta", (5, 0.5))
    assert [beta.cum_distribution_function(x) for x in (-1, 0, 1, 2)] == [0, 0, 1, 1]
    try:
        sage.PowerSeriesRing()
        raise AssertionError("something computed with what is not there")
    except NotImplementedError as why:
        assert "PowerSeriesRing" in str(why)


if __name__ == "__main__":
    main()
