"""What a pickle says, with nothing of it done.

A pickle is a program: it imports what it names and calls what it likes. `pickletools` lists its instructions, and
`followed` keeps the books on what they would make. There is no import in it and no call: a global is its name, a call
is a note of the name and the arguments, and any other object is a `Stranger`, in which nothing is.
"""

import pickletools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_MARK = object()


@dataclass(frozen=True)
class Name:
    """A function or a class, never looked up."""

    path: str


@dataclass(frozen=True)
class Call:
    """What would have been called, and with what."""

    path: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Outside:
    """What lies outside the pickle, as it is described there."""

    description: Any


class Stranger:
    """Any other object."""


def followed(pickled: bytes) -> Any:
    """Plain values, lists, tuples, dictionaries (items of which the key is a word) and the above; ValueError if broken.

    >>> followed(b"cbuiltins\\neval\\n(Vexit()\\ntR.")
    Call(path='builtins.eval', arguments=('exit()',))
    """
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        with warnings.catch_warnings():
            # Of unknown escapes in the words of a broken pickle.
            warnings.simplefilter("ignore", DeprecationWarning)
            for instruction, argument, _ in pickletools.genops(pickled):
                if instruction.name != "STOP":
                    _step(instruction, argument, stack, memo)
        return stack.pop()
    except (LookupError, OverflowError) as error:
        raise ValueError("a pickle that takes what isn't there") from error


def _step(instruction: pickletools.OpcodeInfo, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    match instruction.name:
        case "PUT" | "BINPUT" | "LONG_BINPUT":
            memo[argument] = stack[-1]
        case "MEMOIZE":
            memo[len(memo)] = stack[-1]
        case "GET" | "BINGET" | "LONG_BINGET":
            stack.append(memo[argument])
        case "DUP":
            stack.append(stack[-1])
        case "MARK":
            stack.append(_MARK)
        case _:
            taken = _taken(instruction, stack)
            # Of these instructions each leaves one thing, or nothing (PROTO, FRAME, POP).
            if instruction.stack_after:
                stack.append(_made(instruction, argument, taken))


def _taken(instruction: pickletools.OpcodeInfo, stack: list[Any]) -> list[Any]:
    """What the instruction takes off the stack, lowest first; of a mark and what is above it, the latter."""
    before = list(instruction.stack_before)
    above: list[Any] = []
    if pickletools.markobject in before:
        while (value := stack.pop()) is not _MARK:
            above.append(value)
        before = before[: before.index(pickletools.markobject)]
    below = [stack.pop() for _ in before]
    return [*reversed(below), *reversed(above)]


def _made(instruction: pickletools.OpcodeInfo, argument: Any, taken: list[Any]) -> Any:
    match instruction.name, taken:
        case "NONE", _:
            return None
        case ("NEWTRUE" | "NEWFALSE") as flag, _:
            return flag == "NEWTRUE"
        case (("EMPTY_TUPLE" | "TUPLE" | "TUPLE1" | "TUPLE2" | "TUPLE3"), _):
            return tuple(taken)
        case (("EMPTY_LIST" | "LIST"), _):
            return taken
        case (("APPEND" | "APPENDS"), [target, *values]):
            if isinstance(target, list):
                target.extend(values)
            return target
        case (("EMPTY_DICT" | "DICT"), _):
            return _with_items({}, taken)
        case (("SETITEM" | "SETITEMS"), [target, *items]):
            return _with_items(target, items)
        case "GLOBAL", _:
            return Name(argument.replace(" ", "."))
        case "STACK_GLOBAL", [str(module), str(name)]:
            return Name(f"{module}.{name}")
        case "REDUCE", [Name("collections.OrderedDict"), ()]:
            return {}
        case "REDUCE", [Name(path), tuple(arguments)]:
            return Call(path, arguments)
        case "BUILD", [target, _]:
            return target  # without the state it would have been given
        case "BINPERSID", [description]:
            return Outside(description)
        case _ if argument is not None and not instruction.stack_before:
            return argument  # a number, a word, bytes
    return Stranger()


def _with_items(target: Any, items: Sequence[Any]) -> Any:
    if isinstance(target, dict):
        # Other keys are not needed, and not safe: to hash tuples in tuples in tuples overflows Python's own stack.
        target.update((key, value) for key, value in zip(items[::2], items[1::2], strict=True) if isinstance(key, str))
    return target
