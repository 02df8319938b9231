"""Files of vCons by the vCon library, as JSON lines: the file, whether it is valid, and what the library reads of it."""

import json
import logging
import pathlib
import sys
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from vcon import Vcon  # noqa: E402

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.vcon")):
    text = path.read_text()
    read = Vcon.build_from_json(text)
    valid, problems = read.is_valid()
    # What it writes must be what it read.
    print(json.dumps({"file": path.name, "valid": valid, "problems": problems, "read": json.loads(read.to_json())}))
