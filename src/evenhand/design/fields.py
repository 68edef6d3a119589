"""Finite rings in tables, the integers modulo n and the fields GF(q), with which balanced designs are made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import product
from math import gcd
from operator import mul

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ring:
    """A commutative ring with elements 0, ..., n - 1, of which 0 is zero.

    Attributes
    ----------
    add, multiply
        Sums and products of every two elements (n x n each).
    generators
        Elements of which all others are sums.
    units
        Elements that have an inverse.
    one
        The element that is one.
    """

    add: Codes
    multiply: Codes
    generators: tuple[int, ...]
    units: tuple[int, ...]
    one: int = 1

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.add)

    @cached_property
    def subtract(self) -> Codes:
        """Differences, first element less second (n x n)."""
        negative = np.argmin(self.add, axis=1)
        return self.add[:, negative]

    def powers(self, element: int) -> tuple[int, ...]:
        """Return one, the element, its square and so on, until one comes again; the element has to be a unit."""
        found = [self.one]
        while (following := int(self.multiply[found[-1], element])) != found[0]:
            found.append(following)
        return tuple(found)

    def multiples(self, element: int) -> tuple[int, ...]:
        """Return zero, the element, twice the element and so on, until zero comes again."""
        found = [0]
        while following := int(self.add[found[-1], element]):
            found.append(following)
        return tuple(found)

    def __mul__(self, other: Ring) -> Ring:
        """Return the ring of pairs of elements."""

        def pairs(one: Codes, two: Codes) -> Codes:
            both = one[:, None, :, None] * other.order + two[:, None, :]
            return both.reshape(self.order * other.order, -1)

        return Ring(
            pairs(self.add, other.add),
            pairs(self.multiply, other.multiply),
            (*(generator * other.order for generator in self.generators), *other.generators),
            tuple(one * other.order + two for one in self.units for two in other.units),
            self.one * other.order + other.one,
        )


def integers(modulus: int) -> Ring:
    """Return the integers modulo n.

    Examples
    --------
    >>> integers(7).powers(2)
    (1, 2, 4)
    """
    all_of_them = np.arange(modulus)
    units = tuple(unit for unit in range(modulus) if gcd(unit, modulus) == 1)
    return Ring(
        np.add.outer(all_of_them, all_of_them) % modulus,
        np.multiply.outer(all_of_them, all_of_them) % modulus,
        (1,),
        units,
    )


def field(order: int) -> Ring | None:
    """Return GF(q), the field of q elements; None where q is not a power of a prime.

    The digits of an element, to base p, are the coefficients of a polynomial; products are taken modulo the first
    polynomial of which x is a primitive root.

    Examples
    --------
    >>> four = field(4)
    >>> four.multiply[2].tolist(), four.add[2].tolist()
    ([0, 2, 3, 1], [2, 3, 0, 1])
    """
    parts = prime_power(order)
    if parts is None:
        return None
    prime, degree = parts
    places = prime ** np.arange(degree)
    digits = np.arange(order)[:, None] // places % prime
    powers = next(
        found for tail in product(range(prime), repeat=degree) if len(found := _powers_of_x(tail, prime)) == order - 1
    )
    logarithm = np.empty(order, dtype=np.int64)
    logarithm[powers] = np.arange(order - 1)
    products = np.array(powers)[np.add.outer(logarithm[1:], logarithm[1:]) % (order - 1)]
    return Ring(
        (digits[:, None] + digits) % prime @ places,
        np.pad(products, ((1, 0), (1, 0))),
        tuple(places.tolist()),
        tuple(range(1, order)),
    )


def product_of_fields(order: int) -> Ring | None:
    """Return the product of fields whose orders are powers of different primes; None where that is the integers.

    Examples
    --------
    >>> product_of_fields(12).multiples(3), product_of_fields(15) is None
    ((0, 3), True)
    """
    fields, rest = [], order
    while rest > 1:
        prime = next(divisor for divisor in range(2, rest + 1) if rest % divisor == 0)
        power = gcd(prime ** rest.bit_length(), rest)
        fields += [found for found in [field(power)] if found]
        rest //= power
    if all(len(found.generators) == 1 for found in fields):
        return None
    return reduce(mul, fields)


def prime_power(number: int) -> tuple[int, int] | None:
    """Return the prime and the exponent of which a number is the power; None where there are none.

    Examples
    --------
    >>> prime_power(27), prime_power(12)
    ((3, 3), None)
    """
    if number < 2:
        return None
    prime = next((divisor for divisor in range(2, int(number**0.5) + 1) if number % divisor == 0), number)
    exponent = 0
    while number % prime == 0:
        number //= prime
        exponent += 1
    return (prime, exponent) if number == 1 else None


def _powers_of_x(tail: tuple[int, ...], prime: int) -> list[int]:
    """Return the powers of x modulo x^m + tail, as numbers, from 1 until one comes again or is zero."""
    degree = len(tail)
    power = [1] + [0] * (degree - 1)
    found: list[int] = []
    seen: set[int] = set()
    while True:
        number = sum(digit * prime**place for place, digit in enumerate(power))
        if number in seen or number == 0:
            return found
        found.append(number)
        seen.add(number)
        lead, shifted = power[-1], [0, *power[:-1]]
        power = [(digit - lead * low) % prime for digit, low in zip(shifted, tail, strict=True)]
