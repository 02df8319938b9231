"""Runs a program to its end. The last line of standard error has its processor seconds and its largest memory in MB."""

import json
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[1:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({"processor": used.ru_utime + used.ru_stime, "megabytes": used.ru_maxrss * 1024 / 1e6}), file=sys.stderr)
sys.exit(code)
