"""A batch program as a neighbour: the same piece of work again and again, counted (L27, M22).

A program of its own, run by its path and with the standard library alone: `__main__.py JOB`, a job
in JSON (`Job`). It makes the input from a seed, does a first piece of work that does not count,
measures the pace while the service is not loaded, says so, and works on until it is ended:

    command     starts the program for each piece of work
    served      one program that does a piece for each line it reads, and says a line
    followed    one program that goes on by itself and says how far it is (`heard.READERS`)

Input lies in memory without a name and files have none, so nothing is left however it ends. What
it starts has its session, and ends with it. Nothing here imports what is not the standard library's
or in this folder.

job, texts: what is to be done, and with what input
work, heard: one piece after the other, and how far a program says that it is
pace: how fast alone, then on and on, with a line for each fifth of a second
"""
