// Nothing: the target that precompiles the headers of tests needs a source file.
