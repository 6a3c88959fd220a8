"""Keys and values of what a decoder has read so far, for sequences that come and go one by one."""

from collections.abc import Sequence

import torch

from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import RelativePositions

SPARE_POSITIONS = 512
"""Relative positions that are projected ahead when a sequence outgrows those prepared at load."""


class KVCache:
    """Preallocated keys and values of `row_count` sequences, right-aligned: all end in the same column.

    A shorter row has unused columns on its left, so one slice of relative positions fits all rows and a step appends
    one column to each. Rows never read each other: one may join or leave between any two steps. The storage, float32
    (rows, heads, columns, head_dim) a layer, grows when rows or columns run out; its size changes no result.
    It belongs to one decoding and is not to be shared between threads.
    """

    def __init__(self, decoder: TransformerEncoder, column_capacity: int, row_capacity: int = 1) -> None:
        """Storage for `row_capacity` sequences of `column_capacity` positions; memory is touched only as it fills."""
        config = decoder.config
        self.lengths: list[int] = []
        self._end = 0
        self._decoder = decoder
        self._positions = decoder.positions(1)
        shape = (max(1, row_capacity), config.head_count, max(1, column_capacity), config.head_dim)
        self._keys = [torch.empty(shape) for _ in range(config.layer_count)]
        self._values = [torch.empty(shape) for _ in range(config.layer_count)]

    @property
    def row_count(self) -> int:
        """Sequences held."""
        return len(self.lengths)

    @property
    def key_count(self) -> int:
        """Positions of the longest sequence: the columns that a query looks at."""
        return max(self.lengths, default=0)

    @property
    def column_capacity(self) -> int:
        """Columns that there is storage for."""
        return self._keys[0].shape[2]

    @property
    def paddings(self) -> list[int]:
        """For each row, how many of the first of `key_count` columns are not its own."""
        key_count = self.key_count
        return [key_count - length for length in self.lengths]

    @property
    def positions(self) -> RelativePositions:
        """Relative positions for `key_count` keys: the decoder's prepared ones while they suffice."""
        if self._positions.length < self.key_count:
            self._positions = self._decoder.positions(self.key_count)
            if self._positions.length == self.key_count:
                self._positions = self._decoder.positions(self.key_count + SPARE_POSITIONS)
        return self._positions

    @torch.inference_mode()
    def begin(self, lengths: Sequence[int]) -> None:
        """Forget everything and open max(lengths) columns for new rows of these lengths."""
        self.lengths = []
        self._end = 0
        self._make_room(len(lengths), max(lengths))
        self._end = max(lengths)
        self.lengths = list(lengths)

    @torch.inference_mode()
    def extend(self) -> None:
        """Open one column: every row grows by one position."""
        self._make_room(self.row_count, 1)
        self._end += 1
        self.lengths = [length + 1 for length in self.lengths]

    def update(self, layer: int, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the newest columns of one layer, float32 (rows, heads, new, head_dim); answer views of all that count.

        The columns must have been opened by `begin` or `extend`. Returns keys and values (rows, heads, key_count,
        head_dim).
        """
        rows, start, new = self.row_count, self._end - self.key_count, keys.shape[2]
        all_keys, all_values = self._keys[layer][:rows, :, : self._end], self._values[layer][:rows, :, : self._end]
        all_keys[:, :, self._end - new :] = keys
        all_values[:, :, self._end - new :] = values
        return all_keys[:, :, start:], all_values[:, :, start:]

    @torch.inference_mode()
    def join(self, other: "KVCache") -> None:
        """Append the rows of `other`, which is only read."""
        row_capacity, _, column_capacity, _ = self._keys[0].shape
        first, rows, columns = self.row_count, other.row_count, other.key_count
        if first + rows > row_capacity or columns > self._end:
            self._relocate(
                row_capacity if first + rows <= row_capacity else max(first + rows, 2 * row_capacity),
                max(column_capacity, columns),
                max(self.key_count, columns),
            )
        self.lengths += other.lengths
        for mine, theirs in zip(self._keys + self._values, other._keys + other._values, strict=True):
            mine[first : first + rows, :, self._end - columns : self._end] = theirs[
                :rows, :, other._end - columns : other._end
            ]
            for row, padding in enumerate(self.paddings):  # blocked, but only finite numbers stay without effect
                mine[row, :, self._end - self.key_count :][:, :padding] = 0.0

    @torch.inference_mode()
    def leave(self, row: int) -> None:
        """Drop a row; the last row takes its number."""
        last, length = self.row_count - 1, self.lengths[-1]
        if row != last:
            columns = slice(self._end - length, self._end)
            for stored in self._keys + self._values:
                stored[row, :, columns] = stored[last, :, columns]
        self.lengths[row] = length
        del self.lengths[last]
        if not self.lengths:
            self._end = 0

    def _make_room(self, rows: int, new_columns: int) -> None:
        """Have storage for `rows` rows and `new_columns` columns behind the last one."""
        row_capacity, _, column_capacity, _ = self._keys[0].shape
        needed = self.key_count + new_columns
        if self._end + new_columns > column_capacity or rows > row_capacity:
            if needed > column_capacity // 2:  # otherwise the columns of rows that have left are enough
                column_capacity = max(2 * column_capacity, needed)
            self._relocate(max(rows, row_capacity), column_capacity, self.key_count)

    def _relocate(self, row_capacity: int, column_capacity: int, end: int) -> None:
        """Move the columns that count into new storage of this size, so that they end at `end`."""
        rows, columns = self.row_count, self.key_count
        for storage in (self._keys, self._values):
            for layer, old in enumerate(storage):
                new = old.new_empty((row_capacity, old.shape[1], column_capacity, old.shape[3]))
                new[:rows, :, end - columns : end] = old[:rows, :, self._end - columns : self._end]
                storage[layer] = new
        self._end = end
