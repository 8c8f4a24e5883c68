"""Resampler: frames of any rate, layout and sample format become 16 kHz 16-bit sound."""

from collections.abc import Iterator, Sequence

import av
from av.audio.resampler import AudioResampler

from app.ai.speech.decoding.limits import MAX_CHANNELS
from app.ai.speech.decoding.output import SAMPLE_BYTES, SAMPLE_RATE_HZ
from app.ai.speech.errors import UnsupportedMedia

_RATES_HZ = range(4_000, 384_001)
_SHORTEST_GAP_S = 0.1
_GAP_STEP_SAMPLES = 60 * SAMPLE_RATE_HZ


class Resampler:
    """Converts frames to interleaved samples.

    With `fill_gaps`, a jump in the time stamps becomes silence: some senders do not send silence.
    It comes in steps, so that the caller can stop a file that claims years of it.
    """

    def __init__(self, *, fill_gaps: bool) -> None:
        self._fill_gaps = fill_gaps
        self._inner: AudioResampler | None = None
        self._source: tuple[int, str, str] | None = None
        self._layout: av.AudioLayout | None = None
        self._next_s: float | None = None
        self.source_rate_hz = 0
        self.channels = 0

    def feed(self, frames: Sequence[av.AudioFrame]) -> Iterator[bytes]:
        """Yield the samples that are ready."""
        for frame in frames:
            yield from self._gap_before(frame)
            yield from self._adapt_to(frame)
            frame.pts = None
            yield from self._resample(frame)

    def finish(self) -> Iterator[bytes]:
        """Yield the samples that the filter still holds; `feed` may go on afterwards."""
        yield from self._resample(None)
        self._inner = self._source = None

    @property
    def layout(self) -> str:
        """Name of the layout of the channels; empty before the first frame."""
        return self._layout.name if self._layout else ""

    @property
    def _frame_bytes(self) -> int:
        return self.channels * SAMPLE_BYTES

    def _adapt_to(self, frame: av.AudioFrame) -> Iterator[bytes]:
        """Restart when the format changes in mid-file; the output keeps the first layout."""
        source = (frame.sample_rate, frame.layout.name, frame.format.name)
        if source == self._source:
            return
        if frame.sample_rate not in _RATES_HZ:
            raise UnsupportedMedia("The sample rate must be between 4 and 384 kHz.")
        if not 1 <= frame.layout.nb_channels <= MAX_CHANNELS:
            raise UnsupportedMedia(f"The recording has more than {MAX_CHANNELS} channels.")
        yield from self.finish()
        if self._layout is None:
            self._layout = frame.layout
            self.channels = frame.layout.nb_channels
            self.source_rate_hz = frame.sample_rate
        self._source = source
        # Interleaved, since PyAV 18.1 crashes the process on planar frames of 8 channels.
        self._inner = AudioResampler(format="s16", layout=self._layout, rate=SAMPLE_RATE_HZ)

    def _resample(self, frame: av.AudioFrame | None) -> Iterator[bytes]:
        if self._inner is not None:
            for ready in self._inner.resample(frame):
                # The plane is padded behind its samples.
                yield bytes(ready.planes[0])[: ready.samples * self._frame_bytes]

    def _gap_before(self, frame: av.AudioFrame) -> Iterator[bytes]:
        if not self._fill_gaps or frame.time is None or not frame.sample_rate:
            return
        expected_s, self._next_s = self._next_s, frame.time + frame.samples / frame.sample_rate
        if expected_s is None or frame.time - expected_s < _SHORTEST_GAP_S:
            return
        missing = int((frame.time - expected_s) * SAMPLE_RATE_HZ)
        yield from self.finish()
        while missing > 0:
            step = min(missing, _GAP_STEP_SAMPLES)
            yield bytes(step * self._frame_bytes)
            missing -= step
