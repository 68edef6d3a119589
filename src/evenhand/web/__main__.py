"""Django's own commands for the web application: ``python -m evenhand.web check --deploy``."""

import sys

from evenhand.web.serve import manage

if __name__ == "__main__":
    manage(sys.argv[1:])
