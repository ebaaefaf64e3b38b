# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all Python tests: streams, the driver, its knobs, and the checks after each test."""

import gc
import os
import sys

import pytest

os.environ.setdefault("HOSTLAUNCH_EMBEDDED_DEVICES", "2")  # read when the driver is loaded

import contract
import cudriver
import devices
import embedded as embedded_driver
import hostfns as compiled
import hostlaunch
import probes
import waiting


def pytest_addoption(parser):
    """`--contract L4` runs the tests of that item, as `ctest -L L4` does."""
    parser.addoption(
        "--contract",
        action="append",
        default=[],
        metavar="ITEM",
        help="run only tests that name this item of the contract: L4, 'section 2'",
    )


def pytest_collection_modifyitems(config, items):
    """Deselect the tests of other items."""
    wanted = set(config.getoption("contract"))
    if not wanted:
        return
    named = [wanted & contract.python_cases(test.path)[test.originalname] for test in items]
    config.hook.pytest_deselected(items=[t for t, n in zip(items, named, strict=True) if not n])
    items[:] = [test for test, names in zip(items, named, strict=True) if names]


@pytest.fixture(scope="session", autouse=True)
def driver_in_use():
    """Load the driver; on the embedded one every entry checks that the GIL is not held."""
    info = hostlaunch.driver()
    if info.name == "embedded":
        embedded_driver.knobs().reset()
    return info


@pytest.fixture(autouse=True)
def _quiet_afterwards(driver_in_use):
    # After each test no launch is outstanding, all add up, and no entry was made with the GIL.
    if driver_in_use.name == "embedded":
        embedded_driver.knobs().reset()
    yield
    waiting.wait_until(waiting.is_quiet, 20)
    assert waiting.adds_up(hostlaunch.stats())
    if driver_in_use.name == "embedded":
        knobs = embedded_driver.knobs()
        assert knobs.violations() == 0, f"{knobs.first_violation()} was entered with the GIL"


@pytest.fixture
def embedded(driver_in_use):
    """Offer the embedded driver's knobs; skips on a real driver."""
    if driver_in_use.name != "embedded":
        pytest.skip("needs the embedded driver's knobs")
    knobs = embedded_driver.knobs()
    knobs.reset()
    yield knobs
    violations, first = knobs.violations(), knobs.first_violation()
    knobs.reset()
    assert knobs.wait_idle()
    assert violations == 0, f"{first} was entered with the GIL"


@pytest.fixture
def cu(driver_in_use):
    """Offer the driver itself; the main thread's context is put back."""
    driver = cudriver.handle()
    before = driver.current_context()
    yield driver
    driver.set_current(before)


@pytest.fixture
def two_devices(cu):
    """Skip on machines with one device."""
    if cu.device_count() < 2:
        pytest.skip("needs two devices")


@pytest.fixture
def make_stream():
    """Make streams that are waited for and closed after the test."""
    made = []

    def make(*args, **kwargs):
        made.append(hostlaunch.Stream(*args, **kwargs))
        return made[-1]

    yield make
    for stream in made:
        if not stream.is_closed:
            waiting.sync(stream)
            stream.close()


@pytest.fixture
def streams(two_devices, make_stream):
    """Make a stream on each of two devices."""
    return [make_stream(device) for device in devices.DEVICES]


@pytest.fixture
def stream(make_stream):
    """Make one stream on the first device."""
    return make_stream(0)


@pytest.fixture
def gate(make_stream):
    """Make a host function that holds its stream; opened at the latest after the test."""
    gc.collect()  # freeing memory that an earlier test left behind would wait for the gate
    with waiting.Gate() as made:
        yield made


@pytest.fixture(scope="session")
def _hostfns_library(tmp_path_factory):
    if compiled.compiler() is None:
        pytest.skip("needs a C compiler")
    path = compiled.build("hostfns.c", tmp_path_factory.mktemp("hostfns") / "libhostfns.so")
    os.environ[compiled.ENVIRONMENT] = path
    return compiled.load()


@pytest.fixture
def hostfns(_hostfns_library):
    """Offer compiled host functions, freshly reset."""
    _hostfns_library.reset()
    yield _hostfns_library
    _hostfns_library.library.hf_open()
    waiting.wait_until(waiting.is_quiet, 20)


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory):
    """Build a libcuda.so.1 whose cuInit answers FAKE_CUINIT; its folder."""
    if compiled.compiler() is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("fakedriver")
    compiled.build("fakedriver.c", folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1")
    return folder


@pytest.fixture
def unraisable(monkeypatch):
    """Record what reaches sys.unraisablehook instead of printing it."""
    hook = probes.Unraisable()
    monkeypatch.setattr(sys, "unraisablehook", hook)
    return hook
