"""Each row of the catalogue of hostile inputs has a test that names it."""
import glob
import os
import re

from proxy import TREE

ROWS = {'A': 32, 'B': 22, 'C': 23, 'D': 12, 'E': 13, 'H': 10, 'J': 22, 'K': 3, 'O': 22, 'V': 15, 'M': 5, 'U': 14}
NONE = {'J09', 'J10', 'J19'}  # there are no such rows
WITHOUT = {
    'U10': 'TLS is not terminated here: its hello on a plain port is X100',
    'U13': 'HTTP/2 is not spoken here: its preface and a flood behind it are C16 and X101',
}


def test_every_row_is_named():
    rows = {f'{area}{n:02}' for area, last in ROWS.items() for n in range(1, last + 1)} - NONE
    text = ''
    for path in glob.glob(os.path.join(TREE, 'test', '**', '*'), recursive=True):
        if path.endswith(('.py', '.txt', '.c')) and path != __file__:
            with open(path, encoding='utf-8', errors='replace') as f:
                text += f.read()
    named = set(re.findall(r'\b[A-Z]\d\d\b', text))
    assert rows - named - set(WITHOUT) == set()
