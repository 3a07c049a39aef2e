"""The systems with which the product is compared, installed by the extra `bench`."""
