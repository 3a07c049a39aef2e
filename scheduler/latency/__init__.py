"""When an answer can be there: what was learned of models, and the due ticks that follow from it."""
