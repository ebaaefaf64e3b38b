# SPDX-License-Identifier: Apache-2.0
"""Which kind of Python runs the tests."""

import sysconfig

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
