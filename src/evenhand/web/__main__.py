"""Django's own commands for the web application: ``python -m evenhand.web check --deploy``."""

import sys

from evenhand.web.serve import manage

manage(sys.argv[1:])
