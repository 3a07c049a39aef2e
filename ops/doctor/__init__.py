"""`cogitate doctor`: checks of everything that runs need."""
