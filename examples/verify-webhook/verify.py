"""Whether the service signed a delivery: the check of `X-Service-Signature` over the raw bytes of the body.

As a program: `python3 verify.py SECRET_FILE SIGNATURE < BODY` ends with 0 for a genuine delivery, else with 1; with 2 for wrong arguments.
"""

import argparse
import hashlib
import hmac
import sys


def is_genuine(body: bytes, signature: str | None, secret: bytes) -> bool:
    """Give the bytes as they came: JSON that was parsed and written again has another signature.

    The comparison takes the same time wherever the signatures differ.
    """
    expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), (signature or "").encode())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(usage="python3 verify.py SECRET_FILE SIGNATURE < BODY")
    parser.add_argument("secret", type=argparse.FileType("rb"))
    parser.add_argument("signature")
    given = parser.parse_args()
    # Editors end a file with a line break, which is no part of the secret.
    key = given.secret.read().strip()
    sys.exit(0 if is_genuine(sys.stdin.buffer.read(), given.signature, key) else 1)
