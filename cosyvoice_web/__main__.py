"""`python -m cosyvoice_web`."""

import sys

from cosyvoice_web.cli import main

sys.exit(main())
