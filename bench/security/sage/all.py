# SPDX-License-Identifier: Apache-2.0
"""What the lattice estimator takes from Sage, on mpmath: numbers of PRECISION bits, and nothing symbolic.

Only for bench/security/estimate, which puts this folder's parent on Python's path. Names are Sage's. A function that the attacks which
are run there do not need can be imported and fails when it is called, so that nothing is computed wrongly in silence.
"""

import functools
import math

import mpmath

PRECISION = 2100  # the estimator asks for up to 2048
mpmath.mp.prec = PRECISION
# Methods that Sage's real numbers have.
mpmath.mpf.n = lambda self, bits=53: self
mpmath.mpf.is_NaN = lambda self: mpmath.isnan(self)

oo = mpmath.inf
pi = +mpmath.pi
e = +mpmath.e
euler_gamma = +mpmath.euler
exp, sqrt, erf, zeta, coth, tanh, gamma = mpmath.exp, mpmath.sqrt, mpmath.erf, mpmath.zeta, mpmath.coth, mpmath.tanh, mpmath.gamma


def log(x, base=None):
    if x == 0:
        return -oo
    return mpmath.log(x) if base is None else mpmath.log(x) / mpmath.log(base)


def ceil(x):
    return x if mpmath.isinf(x) else int(mpmath.ceil(x))


def floor(x):
    return x if mpmath.isinf(x) else int(mpmath.floor(x))


def round(x, digits=0):  # noqa: A001  halves go away from zero, as Sage's do
    if digits or mpmath.isinf(x):
        raise NotImplementedError("digits after the point, or an infinite number")
    return int(mpmath.sign(x)) * int(mpmath.floor(abs(mpmath.mpf(x)) + mpmath.mpf("0.5")))


def binomial(n, k):
    if k < 0:
        return 0
    out = 1
    for i in range(int(k)):
        out = out * (n - i) // (i + 1)
    return out


def prod(numbers):
    return functools.reduce(lambda a, b: a * b, numbers, 1)


class RealField:
    """RR and its like. All have PRECISION bits: more than a caller asks for does no harm."""

    def __init__(self, bits=53):
        if bits > PRECISION:
            raise NotImplementedError(f"{bits} bits: set PRECISION to as many")

    def __call__(self, x):
        return mpmath.mpf(x)

    def prec(self):
        return PRECISION

    def pi(self):
        return pi


RR = RDF = RealField()


def parent(x):
    return RR


def ZZ(x):
    return int(x)


class RealDistribution:
    """The beta distribution, in double precision as in Sage."""

    def __init__(self, name, parameters):
        if name != "beta":
            raise NotImplementedError(f"the distribution {name}")
        self.a, self.b = map(float, parameters)

    def cum_distribution_function(self, x):
        """The incomplete beta function by its continued fraction (Abramowitz and Stegun 26.5.8), from the end that converges faster."""
        a, b, x = self.a, self.b, float(x)
        if x <= 0 or x >= 1:
            return float(x >= 1)
        beyond = x > (a + 1) / (a + b + 2)
        if beyond:
            a, b, x = b, a, 1 - x
        front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
        last = None
        for terms in (8, 16, 32, 64, 128, 256, 512, 1024):
            fraction = 1.0
            for m in range(terms, 0, -1):
                odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
                even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                fraction = 1 + odd / (1 + even / fraction)
            if fraction == last:
                break
            last = fraction
        return 1 - front / fraction if beyond else front / fraction


def find_root(f, low, high, **_):
    """A zero of f between low and high, where f has different signs."""
    low, high = mpmath.mpf(low), mpmath.mpf(high)
    at_low = f(low)
    if at_low * f(high) > 0:
        raise RuntimeError("f appears to have no zero on the interval")
    for _ in range(120):
        middle = (low + high) / 2
        at = f(middle)
        if at * at_low > 0:
            low, at_low = middle, at
        else:
            high = middle
    return (low + high) / 2


cached_function = functools.lru_cache(maxsize=None)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def missing(*_, **__):
        raise NotImplementedError(f"{name} is not in the stand-in for Sage")

    return missing
