"""The embedded voice: Kokoro-82M v1.0 in onnxruntime, with its own readings of Mandarin, English and Japanese.

The path of a sentence is the order of the modules: `phonemes` (over `mandarin`, `english`, `japanese`), `chunking`,
`model`, `pauses`, `engine`. Weights and dictionaries are Python packages; nothing is downloaded or written.
"""
