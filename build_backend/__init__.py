"""The build backend of this repository: setuptools, and a wheel whose modules all lie in one package."""
