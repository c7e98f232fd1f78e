"""A speech service: pocketsphinx with its English model, and sentences that espeak-ng speaks.

The words that the decoder hears in a recording are those that it hears when it is made: it is the
same decoder, so its work is checked, and not how well it hears.
"""

from __future__ import annotations

import io
import math
import shutil
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sojourn import late
from sojourn.install import answers, cpp, sentences
from sojourn.install.debs import Deb
from sojourn.install.part import Part

if TYPE_CHECKING:
    import numpy as np
else:
    np = late.module("numpy")

NAME = "sphinx"
RECORDINGS = 16
SEED = 3
RATE_HZ = 16_000
HEAD_BYTES = 44  # of a sound in WAV form
SPEED = "170"  # words a minute
MODEL, SPEECH = "model", "speech"


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Compile the program, keep the model, speak the sentences, and decode each of them."""
    headers = ("pocketsphinx", "sphinxbase")
    program = cpp.compiled("sphinx.cpp", unpacked, into, libraries=headers, headers=headers)
    shutil.copytree(unpacked / "usr/share/pocketsphinx/model/en-us", into / MODEL)
    (into / SPEECH).mkdir()
    spoken = sentences.plain(RECORDINGS, SEED, sentences.SHORT)  # P8: 0.86 s a query
    names = tuple(f"{nth:03d}.raw" for nth in range(len(spoken)))
    seconds = sum(
        _record(text, into / SPEECH / name, unpacked)
        for text, name in zip(spoken, names, strict=True)
    )
    answers.keep(into, answers.INPUTS, names)
    heard = answers.answers_of(program, into)
    answers.keep(into, answers.ANSWERS, heard)
    return {
        "recordings": f"{len(names)}, {seconds / len(names):.2f} s on average",
        "words": f"{_share(spoken, heard):.0%} of those that were spoken are heard",
    }


def _record(text: str, path: Path, unpacked: Path) -> float:
    """Speak a sentence into a file of 16-bit samples; its length, s."""
    # Where the machine has them installed, they are not among what was unpacked.
    own = sorted(unpacked.glob("usr/lib/*-linux-gnu*/espeak-ng-data"))
    more = {"ESPEAK_DATA_PATH": str(own[0].parent)} if own else {}
    env = cpp.unpacked_surroundings(unpacked, **more)
    argv = (unpacked / "usr/bin/espeak-ng", "-v", "en-us", "-s", SPEED, "--stdout", text)
    path.write_bytes(_sampled(cpp.ran(argv, cwd=unpacked, env=env)))
    return path.stat().st_size / 2 / RATE_HZ


def _sampled(sound: bytes) -> bytes:
    """A sound as the model wants it: 16 000 samples a second."""
    from scipy.signal import resample_poly  # noqa: PLC0415  # slow to load, and needed only here

    with wave.open(io.BytesIO(sound)) as file:
        rate_hz = file.getframerate()
    # Its head names no length: it was written before the sound was there.
    samples = np.frombuffer(sound[HEAD_BYTES:][: (len(sound) - HEAD_BYTES) // 2 * 2], "<i2")
    shared = math.gcd(rate_hz, RATE_HZ)
    report = resample_poly(samples.astype(np.float64), RATE_HZ // shared, rate_hz // shared)
    return bytes(np.clip(np.rint(report), -32768, 32767).astype("<i2").tobytes())


def _share(spoken: tuple[str, ...], heard: tuple[str, ...]) -> float:
    """Share of spoken words that are among those heard, in any order."""
    words = [
        (word, message.split())
        for text, message in zip(spoken, heard, strict=True)
        for word in text.split()
    ]
    return sum(word in line for word, line in words) / len(words)


PART = Part(
    name=NAME,
    about="a speech service (TailBench's sphinx): pocketsphinx, its model, spoken sentences",
    version=cpp.version("sphinx.cpp", __file__, sentences.__file__),
    debs=(
        Deb(package="libpocketsphinx3", has_more=True),
        Deb(package="libsphinxbase3", has_more=True),
        Deb(package="pocketsphinx-en-us", has_more=True),
        Deb(package="espeak-ng", has_more=True),
        Deb(package="libpocketsphinx-dev"),
        Deb(package="libsphinxbase-dev"),
    ),
    builds=cpp.PACKAGE,
    make=make,
)
