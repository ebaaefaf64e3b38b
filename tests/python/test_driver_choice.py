# SPDX-License-Identifier: Apache-2.0
"""Which driver is used, and what is said about it; each case in a process of its own."""

import os
import shutil
import struct
import sys

import pytest

import hostlaunch
from child import run_python

USE = """
import hostlaunch
with hostlaunch.Stream() as stream:
    ran = []
    hostlaunch.host_launch(stream, lambda: ran.append(1))
    stream.sync()
print(hostlaunch.driver().name, ran)
"""


def message_catalogue(texts):
    """Form a catalogue of translations as gettext reads it."""
    pairs = [(key.encode(), text.encode()) for key, text in sorted(texts.items())]
    header = struct.pack("<7I", 0x950412DE, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, 0)
    at = 28 + 16 * len(pairs)
    tables, strings = b"", b""
    for side in (0, 1):
        for pair in pairs:
            tables += struct.pack("<2I", len(pair[side]), at + len(strings))
            strings += pair[side] + b"\0"
    return header + tables + strings


def embedded_library():
    """Find the embedded driver of the package."""
    folder = os.path.dirname(os.path.realpath(hostlaunch.__file__))
    return os.path.join(folder, "libhostlaunch_embedded.so")


def with_fake(folder, code, **more):
    """Make an environment in which the fake driver is found first."""
    return {"LD_LIBRARY_PATH": str(folder), "FAKE_CUINIT": str(code), **more}


def test_the_driver_in_use_is_told():
    """contract: D2."""
    name, version, path = info = hostlaunch.driver()
    assert (info.name, info.version, info.path) == (name, version, path)
    assert name in ("cuda", "embedded")
    assert isinstance(version, int)
    assert version >= 12000
    assert isinstance(path, str)
    assert os.path.exists(path)


def test_the_embedded_driver_lies_in_the_package(embedded):
    """contract: D1, D2."""
    assert os.path.realpath(hostlaunch.driver().path) == embedded_library()


def test_asking_for_the_embedded_driver_is_silent():
    """contract: D1, D2."""
    result = run_python(USE, env={"HOSTLAUNCH_DRIVER": "embedded"}, options=["-W", "error"])
    assert result.stdout == "embedded [1]\n"


@pytest.mark.parametrize("setting", [None, "auto"])
def test_falling_back_to_the_embedded_driver_is_said_once(fake_driver, setting):
    """contract: D2. There is a driver library, but no device."""
    result = run_python(
        USE + USE,
        env=with_fake(fake_driver, 100, HOSTLAUNCH_DRIVER=setting),
        stderr=None,
        options=["-W", "always"],
    )
    assert result.stdout == "embedded [1]\n" * 2
    assert result.stderr.count("EmbeddedDriverWarning") == 1
    assert "HOSTLAUNCH_DRIVER" in result.stderr


def test_a_missing_library_is_recognised_under_a_translated_locale(tmp_path):
    """contract: D2. What the loader says is translated, as for many users."""
    catalogue = tmp_path / "xx" / "LC_MESSAGES" / "libc.mo"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_bytes(
        message_catalogue(
            {
                "": "Content-Type: text/plain; charset=UTF-8\n",
                "cannot open shared object file": "kann nicht geöffnet werden",
                "No such file or directory": "Nicht gefunden",
            }
        )
    )
    result = run_python(
        f"""
import ctypes, locale
locale.setlocale(locale.LC_ALL, "")
locale.bindtextdomain("libc", {str(tmp_path)!r})
try:
    ctypes.CDLL("/none.so")
except OSError as error:
    print("translated" if "kann nicht" in str(error) else error)
import hostlaunch
try:
    hostlaunch.driver()
except RuntimeError as error:
    print(error)
try:
    ctypes.CDLL("/none.so")
except OSError as error:
    print("translated" if "kann nicht" in str(error) else error)
""",
        env={"HOSTLAUNCH_DRIVER": "/none.so", "LC_ALL": "C.UTF-8", "LANGUAGE": "xx"},
    )
    if result.lines[0] != "translated":
        pytest.skip(f"the loader's messages cannot be translated: {result.lines[0]}")
    assert result.lines[1:] == [
        "no usable CUDA driver: there is no library /none.so",
        "translated",
    ]


def test_the_fallback_can_be_made_an_error(fake_driver):
    """contract: D2. The warning has a category of its own."""
    code = """
import warnings, hostlaunch
warnings.simplefilter("error", hostlaunch.EmbeddedDriverWarning)
for _ in range(2):
    try:
        hostlaunch.Stream()
    except hostlaunch.EmbeddedDriverWarning:
        print("raised")
"""
    result = run_python(code, env=with_fake(fake_driver, 100, HOSTLAUNCH_DRIVER="auto"))
    assert result.lines[0] == "raised"


FAILS = """
import hostlaunch
for _ in range(2):
    for call in (hostlaunch.Stream, hostlaunch.driver,
                 lambda: hostlaunch.host_launch(hostlaunch.Stream.from_handle(0), int)):
        try:
            call()
        except RuntimeError as error:
            print(error)
        else:
            print("worked")
"""


@pytest.mark.parametrize("setting", ["auto", "cuda", None])
def test_a_driver_that_is_there_but_fails_is_an_error(fake_driver, setting):
    """contract: D2. Never a silent fallback; the reason is told each time."""
    result = run_python(FAILS, env=with_fake(fake_driver, 999, HOSTLAUNCH_DRIVER=setting))
    assert len(result.lines) == 6
    for line in result.lines:
        assert "999" in line or "UNKNOWN" in line


@pytest.mark.parametrize("setting", ["auto", "cuda"])
def test_the_toolkits_stub_library_is_named_as_such(fake_driver, setting):
    """contract: D2."""
    result = run_python(FAILS, env=with_fake(fake_driver, 34, HOSTLAUNCH_DRIVER=setting))
    assert len(result.lines) == 6
    assert all("stub" in line for line in result.lines)


def test_no_device_is_an_error_when_the_real_driver_is_asked_for(fake_driver):
    """contract: D2."""
    result = run_python(FAILS, env=with_fake(fake_driver, 100, HOSTLAUNCH_DRIVER="cuda"))
    assert len(result.lines) == 6
    assert all("device" in line for line in result.lines)


@pytest.mark.parametrize("how", ["path", "symbolic link"])
def test_a_driver_can_be_named_by_its_path(how, tmp_path):
    """contract: D2."""
    path = embedded_library()
    if how == "symbolic link":
        link = tmp_path / "libother.so"
        link.symlink_to(path)
        path = str(link)
    result = run_python(USE, env={"HOSTLAUNCH_DRIVER": path}, options=["-W", "error"])
    assert result.stdout == "embedded [1]\n"


def test_a_path_need_not_be_utf_8(tmp_path):
    """contract: D2. It reads as os.fsdecode reads it; a driver that is not there is named."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    path = os.path.join(folder, "libhere.so")
    shutil.copy(embedded_library(), path)
    result = run_python(
        "import hostlaunch; print(ascii(hostlaunch.driver().path))", env={"HOSTLAUNCH_DRIVER": path}
    )
    assert result.lines == [ascii(path)]
    code = """
import hostlaunch
try:
    hostlaunch.driver()
except RuntimeError as error:
    print(ascii(str(error)))
"""
    result = run_python(code, env={"HOSTLAUNCH_DRIVER": path + ".gone"})
    assert ascii(path + ".gone")[1:-1] in result.stdout


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="CPython imports no extension from such a folder"
)
def test_the_package_may_lie_in_a_folder_that_is_not_utf_8(tmp_path):
    """contract: D2'."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(os.path.dirname(hostlaunch.__file__), os.path.join(folder, "hostlaunch"))
    result = run_python(
        USE + "print(ascii(hostlaunch.driver().path))",
        env={"HOSTLAUNCH_DRIVER": "embedded", "PYTHONPATH": folder},
        options=["-B"],
    )
    path = os.path.join(folder, "hostlaunch", "libhostlaunch_embedded.so")
    assert result.lines == ["embedded [1]", ascii(path)]


@pytest.mark.parametrize("code", [100, 999])
def test_a_driver_whose_path_is_not_utf_8_may_fail(fake_driver, code, tmp_path):
    """contract: D2. The error and the warning have its path in their texts."""
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    shutil.copytree(fake_driver, folder)
    told = """
import warnings, hostlaunch
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        hostlaunch.driver()
    except hostlaunch.CUDAError as error:
        print(error.code, ascii(str(error)))
for warning in caught:
    print(warning.category.__name__, ascii(str(warning.message)))
"""
    result = run_python(told, env=with_fake(folder, code, HOSTLAUNCH_DRIVER="auto"))
    assert result.stdout.startswith("EmbeddedDriverWarning" if code == 100 else "999 ")
    assert "caf\\udce9/libcuda.so.1" in result.stdout


@pytest.mark.parametrize("setting", ["/no/such/libcuda.so", "nonsense", "EMBEDDED?"])
def test_a_driver_that_cannot_be_found_is_an_error_that_names_it(setting):
    """contract: D2."""
    result = run_python(FAILS, env={"HOSTLAUNCH_DRIVER": setting})
    assert len(result.lines) == 6
    assert all(setting in line for line in result.lines)


def test_a_library_that_is_no_driver_is_an_error(hostfns):
    """contract: D2."""
    result = run_python(FAILS, env={"HOSTLAUNCH_DRIVER": hostfns.path})
    assert len(result.lines) == 6
    assert "worked" not in result.stdout


def test_importing_does_not_load_the_driver():
    """contract: D2. A process may fork, or set HOSTLAUNCH_DRIVER, after the import."""
    run_python("""
        import os
        os.environ["HOSTLAUNCH_DRIVER"] = "nonsense"
        import hostlaunch
        os.environ["HOSTLAUNCH_DRIVER"] = "embedded"
        assert hostlaunch.driver().name == "embedded"
    """)


@pytest.mark.parametrize("devices", [1, 3])
def test_the_embedded_driver_has_as_many_devices_as_wanted(devices):
    """contract: D4."""
    result = run_python(
        f"""
        import hostlaunch
        for device in range({devices}):
            assert hostlaunch.Stream(device).device_id == device
        try:
            hostlaunch.Stream({devices})
        except hostlaunch.CUDAError as error:
            print(error.name)
        """,
        env={"HOSTLAUNCH_DRIVER": "embedded", "HOSTLAUNCH_EMBEDDED_DEVICES": str(devices)},
    )
    assert result.lines == ["CUDA_ERROR_INVALID_DEVICE"]


def test_chosen_calls_of_the_embedded_driver_fail(embedded, stream):
    """contract: D4. The n-th call of an entry; calls before and after it work."""
    embedded.fail("cuEventCreate", 2, nth=3)
    embedded.fail("cuEventCreate", 999, nth=4)
    codes = []
    for _ in range(5):
        try:
            stream.record()
            codes.append(0)
        except hostlaunch.CUDAError as error:
            codes.append(error.code)
    assert codes == [0, 0, 2, 999, 0]
