"""Put the script that draws figures into the package; else a first report makes it, in 100 MB."""

from sojourn import extras
from sojourn.report import library

library.ship(extras.SCRIPT)
