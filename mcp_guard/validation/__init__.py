"""Whether arguments fit a signature, and how to say what does not."""

# signature shape     what is declared            attempts bools      what comes of validating
# repairs             other readings of a value   misfits             which errors to tell
# problems phrases    the words                   rules               a raw JSON Schema beside the signature
