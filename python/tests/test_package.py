"""What the package holds beside its code, and what its parts need."""

import subprocess
import sys
from importlib import metadata
from pathlib import Path

from conftest import waykeeper


def test_the_markers_are_those_that_the_program_prints():
    from waykeeper import markers

    assert Path(markers.__file__).read_text() == waykeeper("markers", "python")


def test_markers_need_neither_pandas_nor_matplotlib():
    script = "import sys, waykeeper.markers as m; m.begin(0); m.end(0); print(sorted({'pandas', 'numpy', 'matplotlib'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"


def test_the_stub_names_what_markers_have():
    import inspect

    from waykeeper import markers

    stub = Path(markers.__file__).with_suffix(".pyi").read_text()
    public = [name for name, value in vars(markers).items() if inspect.isfunction(value) and not name.startswith("_")]
    assert sorted(public) == ["begin", "end", "name", "open_ring", "phase"]
    assert all(f"def {name}(" in stub for name in public)


def test_everything_that_is_named_is_there():
    import waykeeper as package

    assert all(getattr(package, name) is not None for name in package.__all__)
    assert not hasattr(package, "nothing")


def test_licences_and_types_are_in_the_wheel():
    files = [str(file) for file in metadata.files("waykeeper")]
    for wanted in ("LICENSE-MIT", "LICENSE-APACHE", "py.typed", "markers.py", "markers.pyi"):
        assert any(file.endswith(wanted) for file in files), (wanted, files)
    assert metadata.version("waykeeper") in waykeeper("--version")
