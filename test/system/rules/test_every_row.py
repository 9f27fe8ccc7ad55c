"""Each row of the caching rules has a case."""
import os
import re
import subprocess
import sys

# Area: its rows.
ROWS = {
    'S': range(1, 20), 'P': range(1, 12), 'F': range(1, 10), 'D': range(1, 9), 'A': range(1, 10), 'H': range(1, 7),
    'V': range(1, 16), 'W': range(1, 19), 'Q': range(1, 10), 'T': range(1, 9), 'Z': range(1, 5),
    'R': range(1, 13), 'E': range(1, 5), 'I': range(1, 7), 'G': range(1, 9), 'K': range(1, 5),
    'N': range(1, 5), 'X': range(1, 13),
}
SYSTEM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = ['rules', 'test_ranges.py']


def rows_in(names):
    return {m.upper() for m in re.findall(r'::test_([a-z]\d+)_', names)} | set(re.findall(r'\[([A-Z]\d+)-', names))


def test_every_row_has_a_case():
    names = subprocess.run([sys.executable, '-m', 'pytest', '-q', '--collect-only', '-p', 'no:cacheprovider', *SOURCES],
                           cwd=SYSTEM, capture_output=True, text=True, check=True).stdout
    rows = {f'{area}{n}' for area, numbers in ROWS.items() for n in numbers}
    ours = rows_in('\n'.join(n for n in names.splitlines() if n.startswith('rules/')))
    assert not rows - rows_in(names), f'rows without a case: {sorted(rows - rows_in(names))}'
    assert not ours - rows, f'cases of rows that are not listed: {sorted(ours - rows)}'
