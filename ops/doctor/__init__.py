"""`cogitate doctor`: whether everything that runs need is there and fit."""
