"""How a call runs: the pipeline, the clock of a call, bodies in tasks and threads."""
