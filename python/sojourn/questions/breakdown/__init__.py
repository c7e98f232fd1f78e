"""Where the time of a request goes, by stage and by cause."""
