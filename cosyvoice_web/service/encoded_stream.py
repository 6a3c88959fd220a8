"""An answer that is sent while it is made."""

from collections.abc import Iterator
from types import TracebackType
from typing import Self

from cosyvoice_web.audio.streams import StreamEncoder
from cosyvoice_web.audio.waveform import is_silent
from cosyvoice_web.service.streaming import SpeechStream
from cosyvoice_web.speech import AudioFormat, AudioOutput, Voice


class EncodedStream:
    """The bytes of one audio file, in order, as the speech comes; at most the current chunk is held here.

    Once it is built, something to hear has been made. Iterating ends the way reading a `SpeechStream` does. Closing it
    stops the work at its next chunk and frees its place; it closes itself at the end and after an error.
    """

    def __init__(self, speech: SpeechStream, output: AudioOutput) -> None:
        """Blocks until there is something to hear.

        Raises:
            As reading a `SpeechStream` does; nothing was handed out then, and `speech` is closed.
            InvalidRequest: the format cannot be streamed, or not at this rate.
        """
        self.format: AudioFormat = output.format
        self.sample_rate_hz = output.sample_rate_hz or speech.sample_rate_hz
        self._speech = speech
        try:
            self._encoder = StreamEncoder(output.format, speech.sample_rate_hz, self.sample_rate_hz)
            self._pieces = self._encoded()
            self._beginning = next(self._pieces)
        except BaseException:
            speech.close()
            raise

    @property
    def voice(self) -> Voice | None:
        """Who speaks; None when it is the voice of a recording."""
        return self._speech.voice

    @property
    def seed(self) -> int:
        """The seed in use, drawn or given."""
        return self._speech.seed

    def __iter__(self) -> Iterator[bytes]:
        try:
            beginning, self._beginning = self._beginning, b""
            if beginning:
                yield beginning
            del beginning
            yield from self._pieces
        finally:
            self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the work at its next chunk and free the place and the encoder; more than once does nothing."""
        self._speech.close()
        self._encoder.close()

    def _encoded(self) -> Iterator[bytes]:
        """First everything up to the first chunk in which something can be heard, then piece by piece."""
        beginning = bytearray()
        for chunk in self._speech:
            beginning += self._encoder.encode(chunk.samples)
            if not is_silent(chunk.samples):
                break
        yield bytes(beginning)
        beginning.clear()
        for chunk in self._speech:
            if data := self._encoder.encode(chunk.samples):
                yield data
        if data := self._encoder.finish():
            yield data
