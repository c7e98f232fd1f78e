"""The referee: what a load tool sent, and what users would have waited.

It looks at the server's end of each connection (a trace of all requests) and at the processes of
the client, and touches neither. The analysis is pure:

    requests + command line + samples of threads  →  judge  →  Judgement  →  words
"""

from __future__ import annotations

from sojourn.referee.judge import judge
from sojourn.referee.judgement import Judgement

__all__ = ["Judgement", "judge"]
