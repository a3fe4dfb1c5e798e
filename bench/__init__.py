"""What the guard costs, measured beside the bare server and beside what a tool author would pick instead.

servers      the servers under measure: the same tools, bare and behind each guard
serve        runs one of them in a process of its own, over stdio or loopback HTTP
arms         opens one way of calling one of them
harness      runs arms in turn and keeps the samples
comparisons  which arms stand side by side, and the target of each
idle         CPU time used while a body swallows its cancellation
report       the tables
"""
