"""What can be told of a caller's recording without decoding it."""

import io

import soundfile

from cosyvoice_web.errors import InvalidRequest

DURATION_MAX_SECONDS = 600.0
"""Headers can lie, and those of streams do."""


def duration_seconds(recording: bytes, field: str) -> float:
    """Length that the header of an audio file says, within 0 and `DURATION_MAX_SECONDS`.

    Raises:
        InvalidRequest: no audio file that can be read; `field` is the part of the request that holds it.
    """
    try:
        info = soundfile.info(io.BytesIO(recording))
    except soundfile.SoundFileError:
        raise InvalidRequest(
            f"The file {field} is no audio that can be read: send WAV, FLAC, OGG or MP3.", field
        ) from None
    return min(max(0.0, float(info.duration)), DURATION_MAX_SECONDS)
