from typing import Final

IDENTIFIED: Final = 0
NO_MEETINGS: Final = 1
TOO_FEW: Final = 2
ONE_CLASS: Final = 3
SEPARATE_GROUPS: Final = 4
AT_CHANCE: Final = 5
NO_SOLUTION: Final = 6

CHANCE: float
MAIN_GROUP: float

def find_reason(
    met: float, all_met: float, met_workers: int, evidence: float, classes: int
) -> int: ...
