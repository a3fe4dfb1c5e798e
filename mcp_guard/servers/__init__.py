"""One adapter a server library; the only modules that import one. `Guard` loads the right one by name."""
