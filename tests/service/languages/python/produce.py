"""Writes each line of standard input, a user and what a device of theirs has posted, to the broker."""

import sys
import warnings

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.11 deprecates what the library uses

import reports

producer = reports.connect(sys.argv[1])
for line in sys.stdin:
    user, body = line.rstrip("\n").split("\t", 1)
    reports.write(producer, user, body.encode())
producer.close()
