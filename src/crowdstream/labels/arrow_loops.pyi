import numpy as np
from numpy.typing import NDArray

class TextColumn:
    def __init__(self, text: NDArray[np.uint8], ends: NDArray[np.int64]) -> None: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
