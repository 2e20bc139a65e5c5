import numpy as np
from numpy.typing import NDArray

class TextViews:
    def __init__(self, views: NDArray[np.uint64], text: NDArray[np.uint8]) -> None: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
