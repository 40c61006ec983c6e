"""The `nonneg` command: a file a command, which parses, calls one function and prints.

main       runs a command and turns what the user got wrong into one line and exit status 2
commands   the list of them
processes  which process speaks, where several train together
options    what an error advises, in the words of a command without a recipe
"""

from nonneg.cli.main import main

__all__ = ["main"]
