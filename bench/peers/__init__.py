"""Other systems beside which the product is measured: those that the extra `bench` installs."""
