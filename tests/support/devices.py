# SPDX-License-Identifier: Apache-2.0
"""Two devices, and which of their contexts a calling thread may have current."""

DEVICES = (0, 1)
CONTEXTS = (None, *DEVICES)


def make_current(cu, device):
    """Make the device's primary context current, or none; which one."""
    context = None if device is None else cu.primary_context(device)
    cu.set_current(context)
    return context
