"""Writes simhash.json: an independent reference of fingerprints and groups, in plain Python.

    python3 tests/vectors/simhash.py > tests/vectors/simhash.json
"""

import json
import random

MASK = 2**64 - 1
PRIMES = (
    11400714785074694791,
    14029467366897019727,
    1609587929392839161,
    9650029242287828579,
    2870177450012600261,
)


def rotate(value, bits):
    return (value << bits | value >> (64 - bits)) & MASK


def mix(accumulator, lane):
    return rotate((accumulator + lane * PRIMES[1]) & MASK, 31) * PRIMES[0] & MASK


def xxh64(data):
    """XXH64 with seed 0, as its specification has it."""
    at = 0
    if len(data) >= 32:
        lanes = [(PRIMES[0] + PRIMES[1]) & MASK, PRIMES[1], 0, -PRIMES[0] & MASK]
        while at + 32 <= len(data):
            for lane in range(4):
                lanes[lane] = mix(lanes[lane], int.from_bytes(data[at : at + 8], "little"))
                at += 8
        value = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = ((value ^ mix(0, lane)) * PRIMES[0] + PRIMES[3]) & MASK
    else:
        value = PRIMES[4]
    value = (value + len(data)) & MASK
    while at + 8 <= len(data):
        value ^= mix(0, int.from_bytes(data[at : at + 8], "little"))
        value = (rotate(value, 27) * PRIMES[0] + PRIMES[3]) & MASK
        at += 8
    if at + 4 <= len(data):
        value ^= int.from_bytes(data[at : at + 4], "little") * PRIMES[0] & MASK
        value = (rotate(value, 23) * PRIMES[1] + PRIMES[2]) & MASK
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ byte * PRIMES[4] & MASK, 11) * PRIMES[0] & MASK
    value = (value ^ value >> 33) * PRIMES[1] & MASK
    value = (value ^ value >> 29) * PRIMES[2] & MASK
    return value ^ value >> 32


def simhash(features):
    hashed = sorted((xxh64(text.encode()), float(weight)) for text, weight in features)
    fingerprint = 0
    for bit in range(64):
        total = 0.0
        for value, weight in hashed:
            total += weight if value >> bit & 1 else -weight
        if total > 0:
            fingerprint |= 1 << bit
    return fingerprint


def groups(distance, fingerprints):
    """The groups of fingerprints whose ids are `item-0`, `item-1`, … in their order."""
    answers = []
    for number, fingerprint in enumerate(fingerprints):
        distances = [(bin(fingerprint ^ other).count("1"), before) for before, other in enumerate(fingerprints[:number])]
        nearest = min(distances, default=(65, None))
        answers.append(answers[nearest[1]] if nearest[0] <= distance else f"item-{number}")
    return answers


def cases():
    alike = random.Random(1)
    words = "the a harbour bridge opens after three years of repairs 天 气 预报 🐈 mañana x yy zzz".split()
    yield []
    yield [("one", 1)]
    yield [("one", 0)]
    yield [("one", 1), ("two", 1)]
    yield [("one", 1), ("two", 0.5)]
    yield [("one", 1), ("one", 1), ("two", 2), ("three", 0)]
    yield [("", 1)]
    yield [("largest", 2**53), ("small", 0.001), ("小", 0.002)]
    # The sum of these depends on the order in which they are added.
    yield [(word, weight) for word in ("a", "b", "c", "d") for weight in (0.5, 2**53, 0.1)]
    # Every length at which XXH64 takes another way.
    for length in range(1, 80):
        yield [("x" * length, 1)]
    for count in (3, 10, 40, 400):
        for _ in range(5):
            yield [(" ".join(alike.choices(words, k=3)), round(alike.uniform(0, 9), 3)) for _ in range(count)]


def fingerprints():
    """Some hundreds around a few centres, at each of which distances from 0 to 6 meet, with ties."""
    alike = random.Random(2)
    centres = [alike.getrandbits(64) for _ in range(20)]
    for _ in range(400):
        fingerprint = alike.choice(centres)
        for bit in alike.sample(range(64), alike.randrange(5)):
            fingerprint ^= 1 << bit
        yield fingerprint


def lines(name, rows):
    return f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n  ]"


def main():
    hashed = [{"features": case, "fingerprint": f"{simhash(case):016x}"} for case in cases()]
    added = list(fingerprints())
    grouped = [{"distance": distance, "groups": groups(distance, added)} for distance in range(4)]
    texts = [f"{fingerprint:016x}" for fingerprint in added]
    print("{\n" + ",\n".join([lines("cases", hashed), lines("fingerprints", texts), lines("grouped", grouped)]) + "\n}")


main()
