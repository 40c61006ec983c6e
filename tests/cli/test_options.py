"""Advice in the words of the command line."""

import pytest

from nonneg._errors import UserError
from nonneg.cli.options import in_options


def test_keys_of_a_recipe_become_options():
    message = "^get it with --download or --root FOLDER, or use --skip-bad-files$"
    with pytest.raises(UserError, match=message), in_options():
        raise UserError("get it with data.download=true or data.root=FOLDER, or set data.on_bad_file=skip")


def test_other_faults_pass():
    with pytest.raises(ZeroDivisionError), in_options():
        raise ZeroDivisionError
