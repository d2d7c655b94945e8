// SPDX-License-Identifier: Apache-2.0
// Nothing: the target that precompiles the headers of tests needs a source file.
