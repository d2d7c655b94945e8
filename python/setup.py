# SPDX-License-Identifier: Apache-2.0
"""What pyproject.toml cannot say: the version is the library's, and a wheel goes with any Python 3 but one platform only."""
import os

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=os.environ.get("PIRX_VERSION", "0"), cmdclass={"bdist_wheel": PlatformWheel}, distclass=WithLibrary)
