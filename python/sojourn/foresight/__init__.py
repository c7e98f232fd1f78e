"""Will a service and a neighbour get along, by what each does with others?

    doses      which levels of a record's factor `neighbour` are doses of one resource
    victims    a service in a record: its curve alone, beside each dose, beside each neighbour
    curves     tail against load: monotone, between measured loads, and where it meets a bound
    ruler      what dose a neighbour equals, by what it does to other services
    forecast   the service beside the neighbour, with intervals; and two simpler guesses
    lacking    what must be measured first, with commands and minutes
    study      the study that measures a service beside doses and neighbours
    words      a forecast as people read it

Sources: Mars et al., Bubble-Up, MICRO 2011 (sensitivity to a dose; a neighbour as a dose);
Delimitrou and Kozyrakis, Paragon, ASPLOS 2013 (several resources); Zhang et al., CPI²,
EuroSys 2013.
"""
