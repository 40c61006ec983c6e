"""What a pickle says, against what Python's own unpickler makes of it; and that nothing in one is ever done."""

import os
import pickle
import random
import sys
from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nonneg.models._pickled import Call, Name, Outside, Stranger, _with_items, followed

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@settings(max_examples=60, deadline=None)
@given(PLAIN, st.integers(0, pickle.HIGHEST_PROTOCOL))
def test_plain_values_are_those_that_were_pickled(value, protocol):
    said = followed(pickle.dumps(value, protocol))
    assert said == value
    assert repr(said) == repr(value)  # 1 is no True, and a list no tuple


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_one_object_in_two_places_stays_one(protocol):
    shared = ["a"]
    first, second = followed(pickle.dumps((shared, shared), protocol))
    assert first is second == shared


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_an_ordered_dictionary_is_a_dictionary_and_its_attributes_are_left_out(protocol):
    ordered = OrderedDict(b=1, a=2)
    ordered._metadata = {"version": 1}
    said = followed(pickle.dumps(ordered, protocol))
    assert type(said) is dict
    assert list(said.items()) == [("b", 1), ("a", 2)]


def test_items_with_other_keys_than_words_are_left_out():
    assert followed(pickle.dumps({1: "a", (2,): "b", "c": 3})) == {"c": 3}


def test_what_lies_outside_keeps_its_description():
    assert followed(b"(Vstorage\nctorch\nFloatStorage\nV0\ntQ.") == Outside(
        ("storage", Name("torch.FloatStorage"), "0")
    )


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_object_of_a_foreign_class_is_a_stranger_and_its_module_is_not_imported(protocol, tmp_path, monkeypatch):
    (tmp_path / "foreign.py").write_text("class Config(dict):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import foreign

    config = foreign.Config(lr=0.4)
    config.note = [1, 2]
    pickled = pickle.dumps({"before": 1, "config": config, "after": 2}, protocol)
    del sys.modules["foreign"]
    said = followed(pickled)
    assert "foreign" not in sys.modules
    assert (said["before"], said["after"]) == (1, 2)
    assert isinstance(said["config"], Stranger | Call)


# Planted ones. Each makes a folder when Python's own unpickler follows it, so the plants are live.


class Reduced:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


def planted(where):
    """Pickles that make the folder, one for each way in which an instruction can call something."""
    word = f"V{where}\n".encode()
    mkdir = os.mkdir.__module__.encode() + b"\nmkdir\n"
    yield "REDUCE", pickle.dumps(Reduced(os.mkdir, where), 2)
    yield "REDUCE of eval", pickle.dumps(Reduced(eval, f"__import__('os').mkdir({where!r})"), 2)
    yield "REDUCE of exec, protocol 4", pickle.dumps(Reduced(exec, f"import os; os.mkdir({where!r})"), 4)
    yield (
        "getattr of an imported module",
        (b"cbuiltins\ngetattr\n(cbuiltins\n__import__\n(Vos\ntRVmkdir\ntR(" + word + b"tR."),
    )
    yield "STACK_GLOBAL of a dotted name", b"\x80\x04\x8c\x02os\x8c\x0dpath.os.mkdir\x93(" + word + b"tR."
    yield "INST", b"(" + word + b"i" + mkdir + b"."
    yield "OBJ", b"(c" + mkdir + word + b"o."
    # NEWOBJ calls __new__ of a class, BUILD __setstate__ of an object: map's next item, and a class's bound method.
    yield "NEWOBJ", b"\x80\x02cbuiltins\nlist\n(cbuiltins\nmap\n(c" + mkdir + b"(" + word + b"lt\x81tR."
    yield "NEWOBJ_EX", b"\x80\x04cbuiltins\nlist\n(cbuiltins\nmap\n(c" + mkdir + b"(" + word + b"lt}\x92tR."
    yield "BUILD", b"ctypes\nSimpleNamespace\n)R}V__setstate__\nc" + mkdir + b"sb" + word + b"b."
    yield "a dictionary's items", pickle.dumps({"state": [Reduced(os.mkdir, where)]}, 0)


NAMES = [name for name, _ in planted("")]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_planted_is_done(name, tmp_path):
    folder = tmp_path / "made"
    pickled = dict(planted(str(folder)))[name]
    followed(pickled)
    assert not folder.exists()
    pickle.loads(pickled)
    assert folder.is_dir()


def test_a_call_is_a_note_of_it():
    assert followed(pickle.dumps(Reduced(eval, "1 + 1"))) == Call("builtins.eval", ("1 + 1",))


def test_a_state_set_on_a_function_or_a_class_changes_neither():
    """As BUILD does, on whatever is on the stack."""
    pickled = b"cnonneg.models._pickled\nfollowed\n(N}V__doc__\nVplanted\nstb."
    assert followed(pickled) == Name("nonneg.models._pickled.followed")
    assert followed.__doc__ != "planted"


# Broken ones


@pytest.mark.parametrize(
    "pickled",
    [
        b"",
        b".",
        b"R.",
        b"t.",
        b"h\x07.",
        b"q\x00.",
        b"0.",
        b"\x80\x02}",
        b"\xff.",
        b"X\xff\xff\xff\x7fshort.",
        b"(Va\nd.",
        b"L" + b"9" * 10_000 + b"L\n.",
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffa.",
    ],
)
def test_a_broken_one_is_a_value_error(pickled):
    with pytest.raises(ValueError):
        followed(pickled)


def test_a_damaged_one_is_read_otherwise_or_is_a_value_error():
    pickled = pickle.dumps({"a": [1, 2.5, ("b", None)], "config": Reduced(eval, "1"), "n": 10**30}, 2)
    chance = random.Random(0)
    for _ in range(2000):
        damaged = bytearray(pickled)
        for _ in range(chance.randint(1, 4)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            followed(bytes(damaged))
        except ValueError:
            continue


def test_a_key_of_tuples_in_tuples_is_not_hashed():
    """Which would go through them on the stack of the interpreter, and end it at some 300,000."""
    deep = ()
    for _ in range(300_000):
        deep = (deep,)
    assert _with_items({}, [deep, 1, "a", 2]) == {"a": 2}
