"""Keys and values of what a decoder has read so far, for sequences that come and go one by one."""

from collections.abc import Iterable, Sequence

import torch

from cosyvoice_web.engines.cosyvoice.layers.encoder import TransformerEncoder
from cosyvoice_web.engines.cosyvoice.layers.relative_positions import BLOCK_COLUMNS, RelativePositions

SPARE_POSITIONS = 512
"""Relative positions that are projected ahead when a sequence outgrows those prepared at load."""


class KVCache:
    """Keys and values of `row_count` sequences, right-aligned: all end in the same column.

    A shorter row has unused columns on its left, so one slice of relative positions fits all rows and a step appends
    one column to each. Rows never read each other: one may join or leave between any two steps. The storage grows when
    it runs out; its size changes no result. It belongs to one decoding and is not to be shared between threads.

    A layer keeps float32 (keys and values, blocks, rows, heads, BLOCK_COLUMNS, head_dim) for the rows that there are
    and no others, so that what is in use is one stretch of memory: attention reads it twice as fast as it would read
    stretches with gaps between them. The price is that the other rows move when one joins or leaves.
    Columns that hold no position hold zeros or what was once read, as attention can block finite numbers only.
    """

    def __init__(self, decoder: TransformerEncoder, column_capacity: int, row_capacity: int = 1) -> None:
        """Storage for `row_capacity` sequences of `column_capacity` positions; memory is touched only as it fills."""
        config = decoder.config
        self.lengths: list[int] = []
        self.key_count = 0
        """Columns that a query looks at: those from the start of the first block that a row uses, to the newest."""
        self._decoder = decoder
        self._positions = decoder.positions(1)
        self._block_shape = (config.head_count, BLOCK_COLUMNS, config.head_dim)
        shape = (2, max(1, row_capacity) * _block_count(max(1, column_capacity)), *self._block_shape)
        self._storage = [torch.empty(shape) for _ in range(config.layer_count)]
        self._used: list[torch.Tensor] = []

    @property
    def row_count(self) -> int:
        """Sequences held."""
        return len(self.lengths)

    @property
    def column_capacity(self) -> int:
        """Columns that there is storage for with as many rows as there are."""
        return self._storage[0].shape[1] // max(1, self.row_count) * BLOCK_COLUMNS

    @property
    def unwritten_count(self) -> int:
        """Columns behind the newest one, up to the end of its block."""
        return -self.key_count % BLOCK_COLUMNS

    @property
    def paddings(self) -> list[int]:
        """For each row, how many of the first of `key_count` columns are not its own."""
        return [self.key_count - length for length in self.lengths]

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
        self._arrange(list(lengths), max(lengths), [])
        self._clear_last_block()

    @torch.inference_mode()
    def extend(self) -> None:
        """Open one column: every row grows by one position."""
        lengths = [length + 1 for length in self.lengths]
        if self.unwritten_count:
            self.lengths = lengths
            self.key_count += 1
        else:
            self._arrange(lengths, self.key_count + 1, self._places(range(self.row_count)))
            self._clear_last_block()

    def update(self, layer: int, keys_values: torch.Tensor) -> torch.Tensor:
        """Write the newest columns of one layer, float32 (keys and values, rows, heads, new, head_dim).

        The columns must have been opened by `begin` or `extend`. Returns a view of all `key_count` columns and of the
        unwritten ones behind them: (keys and values, blocks, rows, heads, BLOCK_COLUMNS, head_dim).
        """
        used = self._used[layer]
        _write(used, self.key_count - keys_values.shape[3], keys_values)
        return used

    @torch.inference_mode()
    def join(self, other: "KVCache") -> None:
        """Append the rows of `other`, which is only read."""
        before, new_blocks = self.row_count, _block_count(max(0, other.key_count - self.key_count))
        places: list[int | None] = [None] * (new_blocks * (before + other.row_count))
        for block in range(_block_count(self.key_count)):
            places += [*(block * before + row for row in range(before)), *[None] * other.row_count]
        self._arrange(self.lengths + other.lengths, self.key_count + new_blocks * BLOCK_COLUMNS, places)
        for mine, theirs in zip(self._used, other._used, strict=True):
            mine[:, :new_blocks, :before] = 0.0
            mine[:, :, before:] = 0.0
            columns = theirs.permute(0, 2, 3, 1, 4, 5).flatten(3, 4)[:, :, :, : other.key_count]
            _write(mine[:, :, before:], self.key_count - other.key_count, columns)

    @torch.inference_mode()
    def leave(self, row: int) -> None:
        """Drop a row; the last row takes its number."""
        rows = list(range(self.row_count))
        rows[row] = rows[-1]
        del rows[-1]
        lengths = [self.lengths[kept] for kept in rows]
        free_blocks = (self.key_count - max(lengths, default=self.key_count)) // BLOCK_COLUMNS
        key_count = self.key_count - free_blocks * BLOCK_COLUMNS if rows else 0
        self._arrange(lengths, key_count, self._places(rows)[free_blocks * len(rows) :])

    def _places(self, rows: Iterable[int]) -> list[int | None]:
        """Where in the storage the blocks of these rows lie, in the order in which a store of them alone has them."""
        return [block * self.row_count + row for block in range(_block_count(self.key_count)) for row in rows]

    def _arrange(self, lengths: list[int], key_count: int, places: Sequence[int | None]) -> None:
        """Become a store of rows of these lengths; its first blocks come from `places`, or from nowhere."""
        blocks, rows = _block_count(key_count), len(lengths)
        moves = [(new, old) for new, old in enumerate(places) if old is not None]
        if any(new > old for new, old in moves):  # no block may be written over before it has moved itself
            moves.reverse()
        used = []
        for layer, old_storage in enumerate(self._storage):
            storage, capacity = old_storage, old_storage.shape[1]
            if blocks * rows > capacity:
                storage = old_storage.new_empty((2, max(blocks * rows, 2 * capacity), *self._block_shape))
            for new, old in moves:
                if storage is not old_storage or new != old:
                    storage[:, new] = old_storage[:, old]
            self._storage[layer] = storage
            used.append(storage[:, : blocks * rows].view(2, blocks, rows, *self._block_shape))
        self.lengths, self.key_count, self._used = lengths, key_count, used

    def _clear_last_block(self) -> None:
        for used in self._used:
            used[:, -1] = 0.0


def _block_count(columns: int) -> int:
    """Blocks that hold so many columns, the last one perhaps in part."""
    return -(-columns // BLOCK_COLUMNS)


def _write(used: torch.Tensor, first_column: int, keys_values: torch.Tensor) -> None:
    """Write columns, (keys and values, rows, heads, columns, head_dim), to blocks as `KVCache.update` answers them."""
    written, count = 0, keys_values.shape[3]
    while written < count:
        block, column = divmod(first_column + written, BLOCK_COLUMNS)
        width = min(BLOCK_COLUMNS - column, count - written)
        used[:, block, :, :, column : column + width] = keys_values[:, :, :, written : written + width]
        written += width
