"""One concern around a body each: one file, one class; none imports another."""
