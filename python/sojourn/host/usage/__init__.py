"""What a service and the machine use, from counters that the kernel keeps anyway.

members: which processes are the service
moment:  every counter at one moment
rates:   two moments → what was used in between, or why that cannot be known
recorded: files of /proc as `sojourn-counters` copied them while load ran
outside: where a guest's bytes are counted
limits:  how much of a resource the service can take here
"""

from sojourn.host.usage.limits import places
from sojourn.host.usage.limits import read as limits
from sojourn.host.usage.members import Members
from sojourn.host.usage.moment import Moment, Places, resctrl_files
from sojourn.host.usage.moment import read as moment
from sojourn.host.usage.outside import Outside
from sojourn.host.usage.rates import Rates, between
from sojourn.host.usage.recorded import Recorded
from sojourn.host.usage.recorded import lines as recorded
from sojourn.host.usage.resource import BY_NAME, RESOURCES, Resource

__all__ = [
    "BY_NAME",
    "RESOURCES",
    "Members",
    "Moment",
    "Outside",
    "Places",
    "Rates",
    "Recorded",
    "Resource",
    "between",
    "limits",
    "moment",
    "places",
    "recorded",
    "resctrl_files",
]
