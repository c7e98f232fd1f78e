"""What is around a guest as in the third paper: storage node and switch (P2).

    client ── switch (bridge or Open vSwitch, .1) ── tap ═ QEMU ═ guest (.2)
                  └ veth ═ namespace sojourn-TAGs (.3): NBD server, or Ceph's monitor and OSD

All of it is the place's: noted before it is made, and ended with it.
"""
