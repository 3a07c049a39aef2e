"""Starts, watches and stops the processes around a host: the embedded server and the workers, which never outlive it.

Code here spawns processes, takes file locks and reads the real clock, but decides no effect of a run. It may import
`cogitate.scheduler` and the folders below, but no other room of `cogitate.workers`.
"""
