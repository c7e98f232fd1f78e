"""Put the script that draws figures into the package: without it the first report takes a second more, and 100 MB."""

from sojourn import extras
from sojourn.report import library

library.ship(extras.SCRIPT)
