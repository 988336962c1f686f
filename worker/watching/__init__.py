"""Watches the cards while the worker runs, and holds the queues of boards that are unwell.

`guard` joins the watcher of `worker.boards` to the job queue, the runner and the operator; `uses`
says which cards an engine of the settings has; `queues` carries a pause out; `notebook` keeps what
was said and what is held; `view` shows it all. On a box without a card nothing of it runs, and an
operator may still hold a board.
"""
