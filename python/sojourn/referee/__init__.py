"""The referee: what a load tool really sent, who held it back, and what users would have waited.

It looks at the server's end of each connection (a trace of all requests) and at the processes of
the client, and touches neither. The analysis is pure:

    requests + command line + samples of threads  →  judge  →  Judgement  →  words
"""

from __future__ import annotations

from sojourn.referee.judge import Judgement, judge

__all__ = ["Judgement", "judge"]
