"""The words both machines use: spans, passages, jobs, events, answers, errors, frames.

Plain frozen values. Nothing here opens a file or a socket or imports another room.
"""
