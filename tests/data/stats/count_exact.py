#!/usr/bin/env python3
"""Writes mwu_exact.tsv and signed_rank_exact.tsv: exact p-values of made-up samples.

Counts arrangements one element at a time in whole numbers of any size and divides at the end with
fractions: slow, short and unlike what comparer/ does, which is the point. Run by hand from this
folder when cases change; the tests read the tables.
"""
import math
import random
from collections import defaultdict
from fractions import Fraction


def mwu(xs, ys):
    """Doubled U of xs and P(|U - mu| >= |u - mu|) over all ways to choose them."""
    pooled = sorted(xs + ys)
    rank2 = {v: 2 * pooled.index(v) + pooled.count(v) + 1 for v in pooled}
    ways = defaultdict(int)
    ways[0, 0] = 1
    for v in pooled:
        for (chosen, total), count in list(ways.items()):
            if chosen < len(xs):
                ways[chosen + 1, total + rank2[v]] += count
    base = len(xs) * (len(xs) + 1)
    mu2 = len(xs) * len(ys)
    u2 = sum(rank2[v] for v in xs) - base
    tail = sum(count for (chosen, total), count in ways.items()
               if chosen == len(xs) and abs(total - base - mu2) >= abs(u2 - mu2))
    return u2, Fraction(tail, math.comb(len(pooled), len(xs)))


def signed_rank(ds):
    """Doubled W+ with Pratt's zeros and its two-sided p over all signs."""
    sizes = sorted(abs(d) for d in ds)
    rank2 = {v: 2 * sizes.index(v) + sizes.count(v) + 1 for v in sizes}
    ways = defaultdict(int)
    ways[0] = 1
    kept = [rank2[abs(d)] for d in ds if d]
    for r in kept:
        for total, count in list(ways.items()):
            ways[total + r] += count
    w2 = sum(rank2[abs(d)] for d in ds if d > 0)
    off = abs(2 * w2 - sum(kept))
    tail = sum(count for total, count in ways.items() if abs(2 * total - sum(kept)) >= off)
    return w2, Fraction(tail, 2 ** len(kept))


def text(values):
    return ",".join("%g" % v for v in values)


def main():
    rng = random.Random(1947)
    with open("mwu_exact.tsv", "w") as out:
        out.write("u1\tp\txs\tys\n")
        sizes = [(1, 5), (5, 1), (3, 8), (5, 4), (7, 12), (12, 7), (25, 25), (25, 24), (13, 25),
                 (5, 59), (59, 5), (10, 54), (2, 40)]
        for n1, n2 in sizes:
            for values in (2, 6, 40, 100000):
                for shift in (0, 1):
                    step = shift * max(1, values // 5)
                    xs = [100 + rng.randrange(values) for _ in range(n1)]
                    ys = [100 + step + rng.randrange(values) for _ in range(n2)]
                    if len(set(xs + ys)) == 1:
                        continue
                    u2, p = mwu(xs, ys)
                    out.write("%g\t%.17g\t%s\t%s\n" % (u2 / 2, p, text(xs), text(ys)))
        for n1, n2 in [(50, 50), (50, 12), (10, 200), (8, 500)]:
            xs = rng.sample(range(1000), n1)
            ys = rng.sample([v + 0.5 for v in range(80, 1080)], n2)
            u2, p = mwu(xs, ys)
            out.write("%g\t%.17g\t%s\t%s\n" % (u2 / 2, p, text(xs), text(ys)))
    with open("signed_rank_exact.tsv", "w") as out:
        out.write("w\tp\tds\n")
        for n in (1, 2, 5, 6, 9, 10, 20, 40, 64):
            for values in (2, 5, 30, 100000):
                ds = [rng.randrange(-values, values + values // 2) for _ in range(n)]
                w2, p = signed_rank(ds)
                out.write("%g\t%.17g\t%s\n" % (w2 / 2, p, text(ds)))


if __name__ == "__main__":
    main()
