"""Programs that measure: fixed input, several runs, min / median / max, the machine described.

``python -m bench NAME --json`` prints one JSON object with flat ``figures``; the rows behind them
(tried, expected, came) lie in ``bench/results/NAME.rows.jsonl``. A new bench is a module
``bench/NAME.py`` with ``run(arguments: Arguments) -> Result``.
"""
