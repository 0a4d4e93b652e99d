"""A wheel with the program in it is for one platform and any Python 3; one without, for all."""
import pathlib

from setuptools import Distribution, setup
from wheel.bdist_wheel import bdist_wheel

HAS_PROGRAM = (pathlib.Path(__file__).parent / "exawarp" / "bin" / "exawarp").exists()


class PlatformDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return HAS_PROGRAM


class AnyPythonWheel(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=PlatformDistribution, cmdclass={"bdist_wheel": AnyPythonWheel})
