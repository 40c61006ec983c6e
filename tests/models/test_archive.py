"""Tensors out of what torch.save wrote: those that it says, and never beyond what is in the file."""

import io
import pickle
import random
import zipfile

import pytest
import torch

from nonneg._errors import UserError
from nonneg.models._archive import read_tensors

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "some.ckpt"


def stored(file, **tensors):
    torch.save({"state_dict": tensors}, file)
    return read_tensors(file, "state_dict", ("",))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_every_type_is_read_bit_for_bit(dtype, file):
    tensor = torch.randint(0, 2, (3, 5)).to(dtype) if dtype in INTEGERS else torch.randn(3, 5).to(dtype)
    read = stored(file, x=tensor)["x"]
    assert read.dtype == dtype
    assert torch.equal(read, tensor)


def test_views_and_numbers_and_other_layouts_are_read_as_they_are(file):
    whole = torch.randn(4, 6)
    tensors = {
        "number": torch.tensor(7),
        "column": whole[:, 2],
        "turned": whole.T,
        "tail": whole[2:, 3:],
        "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    }
    read = stored(file, **tensors)
    assert all(torch.equal(read[name], tensor) for name, tensor in tensors.items())


def test_only_what_is_asked_for_is_read(file):
    torch.save({"state_dict": {"a.x": torch.ones(2), "b.x": "no tensor", "c.x": torch.ones(3)}}, file)
    assert read_tensors(file, "state_dict", ("a.", "c.")).keys() == {"a.x", "c.x"}
    with pytest.raises(UserError, match="damaged"):
        read_tensors(file, "state_dict", ("b.",))


# What was tampered with


def rewritten(file, change=lambda name, data: data, **how):
    """The same records, each passed through `change`."""
    with zipfile.ZipFile(file) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", **how) as archive:
        for name, data in records.items():
            if (new := change(name.split("/", 1)[1], data)) is not None:
                archive.writestr(name, new)


def described(key="0", offset=0, shape=(4,), stride=(1,), kind="FloatStorage"):
    """A pickle of a state_dict with one tensor of this description."""

    class Tensor:
        def __reduce__(self):
            return torch._utils._rebuild_tensor_v2, (Storage(), offset, shape, stride, False, {})

    class Storage:
        pass

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            return ("storage", getattr(torch, kind), key, "cpu", 4) if isinstance(value, Storage) else None

    pickled = io.BytesIO()
    Pickler(pickled, 2).dump({"state_dict": {"x": Tensor()}})
    return pickled.getvalue()


def read_described(file, **described_as):
    torch.save({"state_dict": {"x": torch.arange(4.0)}}, file)
    pickled = described(**described_as)
    rewritten(file, lambda name, data: pickled if name == "data.pkl" else data)
    return read_tensors(file, "state_dict", ("",))["x"]


def test_a_description_within_the_storage_is_followed(file):
    assert read_described(file).tolist() == [0, 1, 2, 3]
    assert read_described(file, offset=1, shape=(2,), stride=(2,)).tolist() == [1, 3]
    assert read_described(file, offset=3, shape=(1, 1), stride=(2**40, 0)).tolist() == [[3]]


@pytest.mark.parametrize(
    "beyond",
    [
        {"shape": (5,)},
        {"offset": 1},
        {"offset": -1, "shape": (1,)},
        {"stride": (2,)},
        {"stride": (-1,), "offset": 3},
        {"shape": (0,)},
        {"shape": (2**62,), "stride": (0,)},
        {"shape": (5,), "stride": (0,)},
        {"shape": (2, 2), "stride": (1,)},
        {"shape": (1,) * 9, "stride": (1,) * 9},
        {"shape": (1,), "stride": (2**63,)},
        {"shape": (2.0,)},
        {"shape": ("a",)},
        {"key": "1"},
        {"key": "../version"},
        {"kind": "DoubleStorage"},
        {"kind": "ComplexFloatStorage"},
    ],
    ids=str,
)
def test_one_beyond_it_is_refused(beyond, file):
    with pytest.raises(UserError, match="which is cut short or damaged"):
        read_described(file, **beyond)


def test_many_names_for_one_storage_are_no_way_to_more_memory_than_the_file_has(file):
    shared = torch.zeros(10_000)
    with pytest.raises(UserError, match="damaged"):
        stored(file, **{f"x{i}": shared for i in range(100)})
    # Two names for one weight are fine in a checkpoint, which has the optimiser's state as well.
    torch.save({"state_dict": {"first": shared, "tied": shared}, "optimizer_states": [torch.zeros(20_000)]}, file)
    assert read_tensors(file, "state_dict", ("",)).keys() == {"first", "tied"}


def test_a_compressed_record_is_refused_as_its_size_is_anything(file):
    torch.save({"state_dict": {"x": torch.zeros(1000)}}, file)
    rewritten(file, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(UserError, match="damaged"):
        read_tensors(file, "state_dict", ("",))


@pytest.mark.parametrize("lost", ["data.pkl", "data/0"])
def test_a_lost_record(lost, file):
    torch.save({"state_dict": {"x": torch.zeros(4)}}, file)
    rewritten(file, lambda name, data: None if name == lost else data)
    with pytest.raises(UserError, match="Expected a"):
        read_tensors(file, "state_dict", ("",))


def test_files_from_before_the_byte_order_was_stored_and_of_the_other_order(file):
    torch.save({"state_dict": {"x": torch.arange(4.0)}}, file)
    rewritten(file, lambda name, data: None if name == "byteorder" else data)
    assert read_tensors(file, "state_dict", ("",))["x"].tolist() == [0, 1, 2, 3]
    torch.save({"state_dict": {"x": torch.arange(4.0)}}, file)
    rewritten(file, lambda name, data: b"big" if name == "byteorder" else data)
    with pytest.raises(UserError, match=r"^Expected numbers of the byte order little, got others in .*; save it again"):
        read_tensors(file, "state_dict", ("",))


def test_a_damaged_file_is_refused_or_says_the_same(file):
    """Wherever the damage is: none gets through but in what is not read."""
    x = torch.arange(4.0)
    torch.save({"state_dict": {"x": x}}, file)
    whole = file.read_bytes()
    chance = random.Random(0)
    outcomes = set()
    for _ in range(300):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        file.write_bytes(damaged[: chance.choice([len(damaged), chance.randrange(len(damaged))])])
        try:
            same = torch.equal(read_tensors(file, "state_dict", ("",)).get("x", x), x)
        except UserError:
            same = None
        outcomes.add(same)
    assert outcomes == {None, True}
