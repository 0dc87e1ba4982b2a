"""Posts standard input through the client: the service's address, the user, the route, Seen-Held and Seen-Pending."""

import sys

import client

client.SERVICE, user, route, held, pending = sys.argv[1:]
headers = {"Seen-Held": held, "Seen-Pending": pending}
present = {name: value for name, value in headers.items() if value}
status, body = client.seenguard(user, route, sys.stdin.buffer.read(), present)
sys.stdout.write(f"{status}\n{body.decode()}")
