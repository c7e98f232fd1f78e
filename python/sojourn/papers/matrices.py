"""The papers' QoS matrices as data: Chen et al. (ISPASS'17), figure 11 (C22).

Rows are loads of memcached, columns loads of NGINX, both 10 to 70 % of max RPS. Leverich and
Kozyrakis (EuroSys'14), figure 6 (L19), is a picture without numbers: memcached meets its target
only while its load is below that of the service of 1 ms.
"""

from __future__ import annotations

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
BOTH = "MN"
SAME, OTHER = "same logical cores", "different logical cores"
# M: memcached meets its target, N: NGINX, -: blank in the figure, neither.
# fmt: off
PAPER = {
    SAME: ("MN MN MN MN - - -", "MN MN MN - - - -", "MN MN - - - - -", "MN N - - - - -",
           "N N - - - - -", "N - - - - - -", "- - - - - - -"),
    OTHER: ("MN MN MN MN MN MN M", "MN MN MN MN MN M M", "MN MN MN MN M M M",
            "MN MN MN MN M M M", "MN MN N N - - -", "N N N - - - -", "N N - - - - -"),
}
# fmt: on
